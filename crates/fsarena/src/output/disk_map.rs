//! Draws a journal as a picture: disk position over time, with a mark for each request. A stream is
//! a line, metadata far from data is a second line, and a disk arm that moves back and forth is a
//! cloud.

use std::fmt::Write as _;

use model::{Bytes, Nanos};
use simdisk::request_log::{LoggedRequest, RequestClass};
use simdisk::{CompletedRequest, RequestKind, SECTOR};

use crate::request_logs::Journal;

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 500.0;
const MARGIN: f64 = 90.0;
/// Minimum size of a mark, so that a request of 4 KiB is visible.
const MIN_DISK_MAP: f64 = 3.0;
/// Height of the strip for flushes below the plot, and of the gap above it. A flush has no disk
/// position.
const STRIP: f64 = 16.0;
const GAP: f64 = 4.0;
/// Number of labelled lines along each axis.
const TICKS: u64 = 4;
/// Colours of reads, data writes, metadata writes, the filesystem's journal, discards, and flushes.
/// Source: Okabe and Ito, "Color universal design" (2008).
const READ: &str = "#0072b2";
const WRITE: &str = "#d55e00";
const METADATA: &str = "#009e73";
const JOURNAL: &str = "#cc79a7";
const DISCARD: &str = "#56b4e9";
const FLUSH: &str = "#999999";

/// Renders the picture as SVG.
pub fn svg(title: &str, journal: &Journal) -> String {
    let served = || journal.entries.iter().map(|(_, entry)| &entry.served);
    let spans = journal.spans();
    let begins = served().map(|s| s.request.arrived);
    let begin = begins.chain(spans.iter().map(|(begin, _)| *begin)).min();
    let begin = begin.unwrap_or_default();
    let ends = served().map(|s| s.completed);
    let end = ends.chain(spans.iter().map(|(_, end)| *end)).max();
    let end = end.unwrap_or_default();
    let scale = Axes {
        begin,
        time: (end.0 - begin.0).max(1) as f64,
        // The vertical scale is the same for all maps of one disk.
        sectors: journal.sectors() as f64,
    };
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" \
         font-size=\"14\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"{MARGIN}\" y=\"24\" font-size=\"18\">{}</text>\n",
        WIDTH + 2.0 * MARGIN,
        HEIGHT + 2.0 * MARGIN + 20.0 + GAP + STRIP,
        escaped(title)
    );
    text += &frame(&scale);
    // Draws large discards below small requests.
    let (below, above): (Vec<&LoggedRequest>, Vec<&LoggedRequest>) = { journal.entries.iter() }
        .map(|(_, entry)| entry)
        .partition(|entry| entry.served.request.operation == RequestKind::Discard);
    for entry in below.into_iter().chain(above) {
        text += &mark(&scale, entry);
    }
    text + "</svg>\n"
}

fn colour(entry: &LoggedRequest) -> &'static str {
    match (entry.served.request.operation, entry.content()) {
        (RequestKind::Flush, _) => FLUSH,
        (RequestKind::Discard, _) => DISCARD,
        (_, RequestClass::Journal) => JOURNAL,
        (RequestKind::Read, _) => READ,
        (RequestKind::Write, RequestClass::Metadata) => METADATA,
        (RequestKind::Write, RequestClass::Data) => WRITE,
    }
}

/// Escapes a text for XML.
fn escaped(text: &str) -> String {
    let escape = |c: char| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        c if c.is_control() => String::new(),
        c => c.to_string(),
    };
    text.chars().map(escape).collect()
}

const fn end_of(served: &CompletedRequest) -> u64 {
    served.request.sector + served.request.sectors as u64
}

/// Mapping from time and disk position to the picture.
struct Axes {
    begin: Nanos,
    time: f64,
    sectors: f64,
}

impl Axes {
    fn x(&self, time: Nanos) -> f64 {
        MARGIN + (time.0 - self.begin.0) as f64 / self.time * WIDTH
    }

    /// The first sector is at the bottom.
    fn y(&self, sector: u64) -> f64 {
        MARGIN + HEIGHT - sector as f64 / self.sectors * HEIGHT
    }
}

fn frame(axes: &Axes) -> String {
    let (places, strip) = (MARGIN + HEIGHT, MARGIN + HEIGHT + GAP);
    let bottom = strip + STRIP;
    let mut text = format!(
        "<rect x=\"{MARGIN}\" y=\"{MARGIN}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"none\" stroke=\"#cccccc\"/>\n\
         <rect x=\"{MARGIN}\" y=\"{strip}\" width=\"{WIDTH}\" height=\"{STRIP}\" fill=\"none\" stroke=\"#cccccc\"/>\n\
         <text x=\"{}\" y=\"{}\" text-anchor=\"end\">flush</text>\n\
         <text x=\"{MARGIN}\" y=\"{}\">Place on the disk, over time. A mark is as wide as its request took.</text>\n",
        MARGIN - 9.0,
        bottom - 3.0,
        MARGIN - 10.0
    );
    for tick in 0..=TICKS {
        let share = tick as f64 / TICKS as f64;
        let time = Nanos((axes.time * share) as u64);
        let place = Bytes((axes.sectors * share) as u64 * SECTOR);
        let (x, y) = (MARGIN + WIDTH * share, places - HEIGHT * share);
        let _ = writeln!(
            text,
            "<path d=\"M{x} {bottom}v6M{MARGIN} {y}h-6\" stroke=\"#666666\"/>\
             <text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{time}</text>\
             <text x=\"{}\" y=\"{}\" text-anchor=\"end\">{place}</text>",
            bottom + 20.0,
            MARGIN - 9.0,
            if tick == 0 { y } else { y + 5.0 }
        );
    }
    let legend = [
        (READ, "read"),
        (WRITE, "write"),
        (METADATA, "write of metadata"),
        (JOURNAL, "filesystem's journal"),
        (DISCARD, "discard"),
        (FLUSH, "flush"),
    ];
    let mut x = MARGIN;
    for (colour, word) in legend {
        let _ = writeln!(
            text,
            "<rect x=\"{x}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{colour}\"/>\
             <text x=\"{}\" y=\"{}\">{word}</text>",
            bottom + 36.0,
            x + 16.0,
            bottom + 47.0
        );
        x += 60.0 + 9.0 * word.len() as f64;
    }
    text
}

/// Draws a request as a box: its width is the duration, its height the size. Flushes are drawn in
/// the strip at the bottom.
fn mark(axes: &Axes, entry: &LoggedRequest) -> String {
    let served = &entry.served;
    let (left, right) = (axes.x(served.request.arrived), axes.x(served.completed));
    let strip = MARGIN + HEIGHT + GAP;
    let (top, bottom) = match served.request.operation {
        RequestKind::Flush => (strip, strip + STRIP),
        _ => (axes.y(end_of(served)), axes.y(served.request.sector)),
    };
    let opacity = match served.request.operation {
        RequestKind::Flush | RequestKind::Discard => "0.35",
        _ => "0.9",
    };
    format!(
        "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\" opacity=\"{opacity}\"/>\n",
        (right - left).max(MIN_DISK_MAP),
        (bottom - top).max(MIN_DISK_MAP),
        colour(entry)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request_logs::text::tests::journal;

    #[test]
    fn each_request_is_a_mark_and_its_title_is_text() {
        let picture = svg("<b> & co", &journal());
        assert!(picture.contains("&lt;b&gt; &amp; co"), "{picture}");
        let marks = |colour| picture.matches(&format!("fill=\"{colour}\" opacity")).count();
        let kinds = [READ, WRITE, METADATA, JOURNAL, DISCARD, FLUSH];
        assert_eq!(kinds.map(marks), [1, 0, 0, 1, 0, 1]);
    }

    #[test]
    fn flushes_are_drawn_in_a_separate_strip() {
        let mut journal = journal();
        let flush = journal.entries[2].clone();
        for number in 0..100 {
            let mut flush = flush.clone();
            flush.1.served.request.arrived.0 += number;
            journal.entries.push(flush);
        }
        let picture = svg("many flushes", &journal);
        let flushes = picture.lines().filter(|line| line.contains(&format!("\"{FLUSH}\" opacity")));
        let strip = format!("y=\"{:.1}\"", MARGIN + HEIGHT + GAP);
        let flushes: Vec<&str> = flushes.collect();
        assert_eq!(flushes.len(), 101);
        assert!(flushes.iter().all(|mark| mark.contains(&strip)), "{flushes:?}");
    }
}
