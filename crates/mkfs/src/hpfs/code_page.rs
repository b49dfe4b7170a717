//! The code page of an HPFS volume: the capital of each byte from 128 to 255, for case-insensitive
//! comparison of names. Code page 850 of country 1, as in the international version of OS/2.

use super::checksum;
use crate::BLOCK;
use crate::sector::SectorBuilder;

const COUNTRY: u16 = 1;
const CODE_PAGE: u16 = 850;
/// Offset and length of the only entry in a data sector.
const ENTRY: usize = 26;
const ENTRY_LENGTH: usize = 136;

/// The upper half of code page 850 (IBM, "Code page 00850").
const CHARACTERS: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐\
                          └┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u{ad}±‗¾¶§÷¸°¨·¹³²■\u{a0}";

/// Returns the sector that lists the code pages. The only code page is in sector `data`.
pub fn directory(data: u32) -> SectorBuilder {
    let mut sector = SectorBuilder::new(BLOCK.as_usize());
    sector.le32(0, 0x4945_21f7).le32(4, 1);
    sector.le16(16, COUNTRY).le16(18, CODE_PAGE);
    sector.le32(20, checksum(&entry())).le32(24, data);
    sector
}

/// Returns the sector with the code page.
pub fn data() -> SectorBuilder {
    let mut sector = SectorBuilder::new(BLOCK.as_usize());
    sector.le32(0, 0x8945_21f7).le16(4, 1);
    sector.le32(8, checksum(&entry())).le16(20, ENTRY as u16);
    sector.put(ENTRY, &entry());
    sector
}

/// Returns an entry: country, code page, number of double-byte ranges (none), uppercase table.
fn entry() -> Vec<u8> {
    let mut entry = SectorBuilder::new(ENTRY_LENGTH);
    entry.le16(0, COUNTRY).le16(2, CODE_PAGE);
    entry.put(6, &capitals());
    entry.bytes().to_vec()
}

/// Returns the uppercase of each byte from 128, or the byte itself if the code page has none.
fn capitals() -> [u8; 128] {
    let characters: Vec<char> = CHARACTERS.chars().collect();
    let code = |c: char| characters.iter().position(|other| *other == c);
    std::array::from_fn(|index| {
        let mut upper = characters[index].to_uppercase();
        let capital = match (upper.next(), upper.next()) {
            (Some(capital), None) => code(capital),
            // The capital of ß has two letters and does not fit into one byte.
            _ => None,
        };
        128 + capital.unwrap_or(index) as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_with_accents_have_the_capitals_of_code_page_850() {
        let capitals = capitals();
        // é, ä, å, ø, ñ, ð and ý have an uppercase letter; ÿ, ß and ░ have none.
        let pairs = [
            (0x82, 0x90),
            (0x84, 0x8e),
            (0x86, 0x8f),
            (0x9b, 0x9d),
            (0xa4, 0xa5),
            (0xd0, 0xd1),
            (0xec, 0xed),
            (0x98, 0x98),
            (0xe1, 0xe1),
            (0xb0, 0xb0),
        ];
        for (small, capital) in pairs {
            assert_eq!(capitals[small - 128], capital, "{small:#x}");
        }
    }

    #[test]
    fn capitals_map_to_themselves() {
        let capitals = capitals();
        assert_eq!(CHARACTERS.chars().count(), 128);
        for capital in capitals {
            assert_eq!(capitals[usize::from(capital) - 128], capital);
        }
    }
}
