//! File format of an aged state: its description and the compressed blocks of its image that are
//! not blank.
//!
//! First comes a skippable zstd frame (magic, length, the SHA-256 of the rest of the file, the
//! description as JSON, spaces), followed by a zstd frame. The zstd frame has for each MiB of the
//! image one bit per block, set if the block differs from a blank image, and then these blocks.
//! Blank blocks are omitted.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};

use model::wire::AgedImageInfo;
use model::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use storage::{IMAGE_CHUNK, Image, ImageFill, ProvisionError};
use sys::io::caches;

use crate::aged::hexadecimal;

/// Magic number of a frame that zstd skips.
const SKIPPABLE: u32 = 0x184d_2a50;
/// Length of magic number and frame size, in bytes.
const FRAME: usize = 8;
/// Length of the digest in hexadecimal, in bytes.
const DIGEST: usize = 64;
/// Length of the header before the compressed blocks.
const HEAD: usize = 8192;
/// Compression level of zstd. Higher levels take longer and save little.
const LEVEL: i32 = 3;
/// Compression window of zstd, as a power of two. Aged files contain many repetitions.
const WINDOW: u32 = 24;
/// Unit in which blocks are stored or omitted.
const BLOCK: usize = 4096;
const BITMAP: usize = IMAGE_CHUNK / BLOCK / 8;

/// Description of a stored aged state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgedImageHeader {
    /// Human-readable name: `ext4 (agrawal, 80% full)`.
    pub name: String,
    /// Size of the image.
    pub size: Bytes,
    /// Creation time, in nanoseconds since 1970.
    #[serde(rename = "made")]
    pub created_at: Nanos,
    /// Properties of the state.
    pub state: AgedImageInfo,
}

/// Writes an image and its description to an empty file and flushes it to disk.
pub fn write(
    file: &mut File,
    image: &Image,
    note: &AgedImageHeader,
    stop: &AtomicBool,
) -> Result<(), ProvisionError> {
    let fail = |doing| ProvisionError::io(doing, image.path());
    file.write_all(&[b' '; HEAD]).map_err(fail("keep"))?;
    let mut source = File::open(image.path()).map_err(fail("open"))?;
    let mut encoder = encoder(file).map_err(fail("compress"))?;
    let mut blank = ImageFill::for_size(image.size());
    let (mut chunk, mut untouched) = (vec![0; IMAGE_CHUNK], vec![0; IMAGE_CHUNK]);
    let mut left = image.size().0;
    while left > 0 {
        let length = left.min(IMAGE_CHUNK as u64) as usize;
        let (chunk, untouched) = (&mut chunk[..length], &mut untouched[..length]);
        source.read_exact(chunk).map_err(fail("read"))?;
        blank.fill(untouched);
        write_changed(&mut encoder, chunk, untouched).map_err(fail("compress"))?;
        left -= length as u64;
        if stop.load(Ordering::Relaxed) {
            return Err(ProvisionError::Interrupted);
        }
    }
    let end = |encoder: Encoder<'_>| encoder.finish()?.flush();
    end(encoder).map_err(fail("compress"))?;
    // Ignore errors: this is only a hint, because cells empty all caches.
    let _ = caches::drop_clean_pages(&source);
    seal(file, note).map_err(fail("keep"))
}

type Encoder<'a> = zstd::Encoder<'static, BufWriter<&'a mut File>>;

fn encoder(file: &mut File) -> io::Result<Encoder<'_>> {
    let mut encoder = zstd::Encoder::new(BufWriter::new(file), LEVEL)?;
    encoder.include_checksum(true)?;
    encoder.long_distance_matching(true)?;
    encoder.window_log(WINDOW)?;
    Ok(encoder)
}

fn write_changed(out: &mut impl Write, chunk: &[u8], untouched: &[u8]) -> io::Result<()> {
    let blocks = || chunk.chunks(BLOCK).zip(untouched.chunks(BLOCK));
    let mut bitmap = [0; BITMAP];
    for (index, (block, blank)) in blocks().enumerate() {
        bitmap[index / 8] |= u8::from(block != blank) << (index % 8);
    }
    out.write_all(&bitmap)?;
    let mut changed = blocks().filter(|(block, blank)| block != blank);
    changed.try_for_each(|(block, _)| out.write_all(block))
}

/// Writes the header. Its digest marks the file as complete.
fn seal(file: &mut File, note: &AgedImageHeader) -> io::Result<()> {
    let json = serde_json::to_vec(note)?;
    if json.len() > HEAD - FRAME - DIGEST {
        return Err(io::Error::other("what is known of it is too long"));
    }
    file.write_all_at(&json, (FRAME + DIGEST) as u64)?;
    file.write_all_at(&SKIPPABLE.to_le_bytes(), 0)?;
    file.write_all_at(&((HEAD - FRAME) as u32).to_le_bytes(), 4)?;
    let digest = digest(file)?;
    file.write_all_at(digest.as_bytes(), FRAME as u64)?;
    file.sync_all()
}

fn digest(file: &mut File) -> io::Result<String> {
    file.seek(SeekFrom::Start((FRAME + DIGEST) as u64))?;
    let mut digest = Sha256::new();
    io::copy(file, &mut Hashing(&mut digest))?;
    Ok(hexadecimal(digest.finalize()))
}

/// A writer that adds bytes to a digest.
pub struct Hashing<'a>(pub &'a mut Sha256);

impl Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the description of a state after verifying the digest of the whole file.
pub fn read(file: &mut File) -> io::Result<AgedImageHeader> {
    let (said, note) = head(file)?;
    match digest(file)? == said {
        true => Ok(note),
        false => Err(io::Error::other("its checksum is wrong")),
    }
}

/// Returns the expected digest and the description of the state, without reading the rest of the
/// file.
pub fn head(file: &File) -> io::Result<(String, AgedImageHeader)> {
    let mut head = [0; HEAD];
    file.read_exact_at(&mut head, 0)?;
    let (frame, rest) = head.split_at(FRAME);
    let (said, json) = rest.split_at(DIGEST);
    if frame[..4] != SKIPPABLE.to_le_bytes() {
        return Err(io::Error::other("not an fsarena image"));
    }
    let said = String::from_utf8_lossy(said).into_owned();
    Ok((said, serde_json::from_slice(json)?))
}

/// Restores a verified state to an image. Blocks that the state does not contain become the same as
/// in a blank image.
pub fn restore(file: &mut File, image: &Image, stop: &AtomicBool) -> Result<(), ProvisionError> {
    let fail = ProvisionError::io("lay out", image.path());
    let mut decoder = match decoder(file) {
        Ok(decoder) => decoder,
        Err(error) => return Err(fail(error)),
    };
    let mut blank = ImageFill::for_size(image.size());
    let content = &mut |chunk: &mut [u8]| {
        blank.fill(chunk);
        read_changed(&mut decoder, chunk)
    };
    image.rewrite(content, &mut |_| check_stop(stop))?;
    // Read to the end of the frame, which contains zstd's own checksum.
    match decoder.read(&mut [0]) {
        Ok(0) => Ok(()),
        Ok(_) => Err(fail(io::Error::other("there is more than the image takes"))),
        Err(error) => Err(fail(error)),
    }
}

fn decoder(file: &mut File) -> io::Result<zstd::Decoder<'static, BufReader<&mut File>>> {
    file.seek(SeekFrom::Start(HEAD as u64))?;
    let mut decoder = zstd::Decoder::new(file)?;
    decoder.window_log_max(WINDOW)?;
    Ok(decoder.single_frame())
}

fn read_changed(from: &mut impl Read, chunk: &mut [u8]) -> io::Result<()> {
    let mut bitmap = [0; BITMAP];
    from.read_exact(&mut bitmap)?;
    for (index, block) in chunk.chunks_mut(BLOCK).enumerate() {
        if bitmap[index / 8] >> (index % 8) & 1 == 1 {
            from.read_exact(block)?;
        }
    }
    Ok(())
}

/// Breaks if the user asks to stop.
pub fn check_stop(stop: &AtomicBool) -> ControlFlow<()> {
    match stop.load(Ordering::Relaxed) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    }
}
