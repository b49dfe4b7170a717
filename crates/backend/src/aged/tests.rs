//! Tests of the cache of aged states: restored images equal the originals, and damaged images are
//! never used.

use std::cell::Cell;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;

use crate::{CellEnd, CellResultBuilder};
use model::wire::CellEvent;
use model::{AgeingSpec, AgeingStopReason, PerMille, Test};

use super::*;

const SIZE: Bytes = Bytes(3 * (1 << 20) + 5000);

struct AgedTestDir {
    directory: tempfile::TempDir,
    contender: Contender,
    ageing: AgeingParams,
    test: Test,
    made: Cell<u32>,
}

impl AgedTestDir {
    fn new() -> Self {
        let catalog = config::Catalog::builtin().unwrap();
        let age = AgeingSpec {
            profile: catalog.age("agrawal").unwrap().clone(),
            fill: AgeingSpec::FILL,
            operations: None,
            layout: None,
        };
        let suite = catalog.suite("lifecycle", model::SizeProfile::Smoke).unwrap();
        Self {
            directory: tempfile::tempdir().unwrap(),
            contender: catalog.contender("ext4").unwrap(),
            ageing: AgeingParams::for_round(&age, 0, 1),
            test: suite.tests[0].clone(),
            made: Cell::new(0),
        }
    }

    fn kept(&self) -> AgedImageCache {
        AgedImageCache::at(&self.directory.path().join("cache")).unwrap()
    }

    fn image(&self) -> Image {
        let path = self.directory.path().join("disk.img");
        Image::prepare(&path, SIZE, &mut |_| std::ops::ControlFlow::Continue(())).unwrap()
    }

    /// Prepares the initial state of a cell. Ageing writes a few blocks.
    fn ready(&self, kept: &AgedImageCache) -> (AgedImageInfo, bool, Vec<String>) {
        let stop = Arc::<AtomicBool>::default();
        let wanted = AgedImageRequest {
            contender: &self.contender,
            ageing: self.ageing.clone(),
            image: self.image(),
            stop: &stop,
        };
        let make = &mut || {
            self.made.set(self.made.get() + 1);
            let image = File::options().write(true).open(self.image().path());
            let image = image.unwrap();
            image.write_all_at(&[7; 9000], 4000).unwrap();
            image.write_all_at(&[0; 4096], 1 << 20).unwrap();
            image.write_all_at(&[9; 10], SIZE.0 - 10).unwrap();
            let mut collector = CellResultBuilder::new(&self.test);
            collector.apply(CellEvent::Aged(record()));
            Ok(collector.finish(CellEnd::Done, Some(Vec::new())))
        };
        match kept.get_or_create(&wanted, make).unwrap() {
            AgedStart::FromImage { state, made, remarks } => (*state, made.is_some(), remarks),
            other => panic!("{other:?}"),
        }
    }
}

fn record() -> AgeingResult {
    AgeingResult {
        wanted_fill: PerMille(800),
        wanted_layout: None,
        fill: PerMille(800),
        files: 1,
        directories: 1,
        bytes: Bytes(1),
        operations: 1,
        written: Bytes(1),
        no_space: 0,
        ages_apart: PerMille(0),
        layout_filled: None,
        layout_aged: Some(PerMille(876)),
        stopped: AgeingStopReason::OperationLimit,
        elapsed: Nanos(1),
        image_hash: None,
    }
}

#[test]
fn cached_state_is_restored_exactly_over_old_content() {
    let place = AgedTestDir::new();
    let kept = place.kept();
    let (first, made, _) = place.ready(&kept);
    assert!(made && first.record.image_hash.is_none());
    let content = fs::read(place.image().path()).unwrap();
    fs::write(place.image().path(), vec![3; SIZE.0 as usize]).unwrap();
    let (second, made, remarks) = place.ready(&kept);
    assert!(!made && remarks.is_empty());
    assert!(fs::read(place.image().path()).unwrap() == content);
    assert_eq!(second.record.layout_aged, Some(PerMille(876)));
    let all = kept.all();
    assert_eq!(all.len(), 1);
    let hash = second.record.image_hash.unwrap();
    assert!(all[0].path.ends_with(format!("{hash}.zst")));
    assert_eq!(all[0].name.as_deref(), Some("ext4 (agrawal, 80% full)"));
    assert!(all[0].size < Bytes::kib(32), "holes are not stored");
}

#[test]
fn damaged_image_is_removed_reported_and_recreated() {
    let place = AgedTestDir::new();
    let kept = place.kept();
    place.ready(&kept);
    let path = kept.all().remove(0).path;
    let whole = fs::read(&path).unwrap();
    let mut damaged = whole.clone();
    for at in [3, 20, 100, 8200, whole.len() - 1] {
        damaged.clone_from(&whole);
        damaged[at] ^= 1;
        fs::write(&path, &damaged).unwrap();
        let (_, made, remarks) = place.ready(&kept);
        assert!(made, "byte {at}");
        assert!(remarks[0].contains("was damaged"), "{remarks:?}");
    }
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    assert!(place.ready(&kept).1, "it ends too soon");
    assert_eq!(place.made.get(), 7);
    assert!(!place.ready(&kept).1, "the new image is used");
}

#[test]
fn remains_of_a_killed_process_are_removed_and_never_used() {
    let place = AgedTestDir::new();
    let kept = place.kept();
    fs::write(kept.path().join(PARTIAL), "half").unwrap();
    assert!(place.ready(&kept).1);
    assert!(!kept.path().join(PARTIAL).exists());
}

#[test]
fn the_images_that_were_not_used_for_longest_go_first() {
    let place = AgedTestDir::new();
    let kept = place.kept();
    for (name, age) in [("old", 200), ("new", 100)] {
        let file = File::create(kept.path().join(format!("{name}.zst"))).unwrap();
        file.set_len(MAX_AGED_BYTES.0 / 2).unwrap();
        let then = SystemTime::now() - Duration::from_secs(age);
        file.set_modified(then).unwrap();
    }
    place.ready(&kept);
    let left: Vec<_> = kept.all().into_iter().map(|image| image.path).collect();
    assert_eq!(left.len(), 2);
    assert!(left[1].ends_with("new.zst"));
}
