//! Draws two processor profiles as one difference flame graph, with callers below the functions
//! that they call. Each box is as wide as the time of both together; its colour shows which of the
//! two takes more.
//!
//! Source of the form: Brendan Gregg, "Differential Flame Graphs" (2014) and "The Flame Graph"
//! (CACM 59(6), 2016).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use model::{CpuProfile, Nanos};

use crate::text::sanitize::escape_invisible;

const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 10.0;
/// Height of a row of functions.
const ROW: f64 = 17.0;
/// Height of the title and legend above the topmost row.
const HEAD: f64 = 64.0;
/// Width below which a box, and all boxes above it, are not drawn.
const NARROWEST: f64 = 0.4;
/// Width of a character at the font size used.
const CHARACTER: f64 = 6.6;
/// Minimum number of characters that must fit for a box to have a label.
const SHORTEST: usize = 3;

/// A function with its callees; nanoseconds of the first and of the second profile.
#[derive(Default)]
struct FlameNode<'a> {
    times: [f64; 2],
    callees: BTreeMap<&'a str, FlameNode<'a>>,
}

impl FlameNode<'_> {
    fn both(&self) -> f64 {
        self.times[0] + self.times[1]
    }

    /// Returns the number of rows that are wide enough to be drawn.
    fn rows(&self, scale: f64) -> usize {
        let drawn = self.callees.values().filter(|node| is_drawn(node, scale));
        1 + drawn.map(|node| node.rows(scale)).max().unwrap_or(0)
    }
}

fn is_drawn(node: &FlameNode<'_>, scale: f64) -> bool {
    node.both() * scale >= NARROWEST
}

/// Returns the flame graph as SVG. The same profiles give the same picture. The tooltip of each box
/// shows its time on either side; the samples of each profile divide the given total time.
pub fn difference_flame_graph(
    title: &str,
    names: [&str; 2],
    profiles: [(&CpuProfile, Nanos); 2],
) -> String {
    let mut root = FlameNode::default();
    for (side, (profile, all)) in profiles.iter().enumerate() {
        for (stack, time) in profile.split_time(*all) {
            let mut node = &mut root;
            node.times[side] += time;
            for function in stack {
                node = node.callees.entry(function).or_default();
                node.times[side] += time;
            }
        }
    }
    let scale = (WIDTH - 2.0 * MARGIN) / root.both().max(1.0);
    let height = HEAD + root.rows(scale) as f64 * ROW + MARGIN;
    let mut picture = Picture { text: String::new(), names, scale, bottom: height - MARGIN };
    picture.head(title, height);
    picture.draw("all", &root, MARGIN, 0);
    picture.text + "</svg>\n"
}

struct Picture<'a> {
    text: String,
    names: [&'a str; 2],
    scale: f64,
    bottom: f64,
}

impl Picture<'_> {
    fn head(&mut self, title: &str, height: f64) {
        let [first, second] = self.names.map(escaped);
        let _ = write!(
            self.text,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
             font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
             <text x=\"{MARGIN}\" y=\"22\" font-size=\"17\">{}</text>\n",
            escaped(title)
        );
        let legend = [
            ([1.0, 0.0], format!("{first} alone")),
            ([1.0, 1.0], "both alike".to_owned()),
            ([0.0, 1.0], format!("{second} alone")),
        ];
        let mut x = MARGIN;
        for (times, word) in legend {
            let _ = writeln!(
                self.text,
                "<rect x=\"{x}\" y=\"34\" width=\"12\" height=\"12\" fill=\"{}\"/><text x=\"{}\" y=\"45\">{word}</text>",
                colour(times),
                x + 16.0
            );
            x += 40.0 + CHARACTER * word.chars().count() as f64;
        }
        let _ =
            writeln!(self.text, "<text x=\"{x}\" y=\"45\">width: CPU time of both together</text>");
    }

    fn draw(&mut self, name: &str, node: &FlameNode<'_>, left: f64, depth: usize) {
        let width = node.both() * self.scale;
        let top = self.bottom - (depth + 1) as f64 * ROW;
        let [first, second] = node.times.map(|time| Nanos(time.round() as u64));
        let _ = write!(
            self.text,
            "<g><title>{}: {} {first}, {} {second}</title><rect x=\"{left:.2}\" y=\"{top:.1}\" width=\"{width:.2}\" \
             height=\"{}\" fill=\"{}\" stroke=\"#ffffff\" stroke-width=\"0.4\"/>",
            escaped(name),
            escaped(self.names[0]),
            escaped(self.names[1]),
            ROW - 1.0,
            colour(node.times)
        );
        if let Some(word) = fitting(name, width) {
            let _ = write!(
                self.text,
                "<text x=\"{:.2}\" y=\"{:.1}\">{}</text>",
                left + 3.0,
                top + 12.0,
                escaped(&word)
            );
        }
        self.text += "</g>\n";
        let mut left = left;
        for (name, callee) in &node.callees {
            if is_drawn(callee, self.scale) {
                self.draw(name, callee, left, depth + 1);
            }
            left += callee.both() * self.scale;
        }
    }
}

/// Shortens a name to fit a box. Returns `None` if the box is too narrow.
fn fitting(name: &str, width: f64) -> Option<String> {
    let room = ((width - 6.0) / CHARACTER).max(0.0) as usize;
    let length = name.chars().count();
    match room {
        room if length <= room => Some(name.to_owned()),
        room if room >= SHORTEST => {
            let shown: String = name.chars().take(room - 1).collect();
            Some(shown + "…")
        }
        _ => None,
    }
}

/// Returns blue if the first takes all the time, orange if the second does, and paler colours the
/// more equal they are.
fn colour(times: [f64; 2]) -> String {
    const FIRST: [f64; 3] = [86.0, 164.0, 225.0];
    const SECOND: [f64; 3] = [240.0, 148.0, 60.0];
    const ALIKE: [f64; 3] = [236.0, 236.0, 232.0];
    let all = (times[0] + times[1]).max(1.0);
    let lean = (times[1] - times[0]) / all;
    let towards = if lean < 0.0 { FIRST } else { SECOND };
    let mixed = |at: usize| (ALIKE[at] + (towards[at] - ALIKE[at]) * lean.abs()).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mixed(0), mixed(1), mixed(2))
}

/// Escapes text for use between two tags.
fn escaped(text: &str) -> String {
    let text = escape_invisible(text).replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(folded: &[(&str, u64)]) -> CpuProfile {
        let stacks = folded.iter().map(|(stack, samples)| {
            let names = stack.split(';').map(str::to_owned).collect();
            (names, *samples)
        });
        CpuProfile::from_stacks(Nanos(1000), 0, stacks)
    }

    fn picture() -> String {
        let first = profile(&[("fsarena;write;<ext4> & co", 3), ("fsarena;[user]", 1)]);
        let second = profile(&[("fsarena;write;xfs", 4), ("fsarena;[user]", 1)]);
        difference_flame_graph(
            "p: a > b\u{202e}",
            ["a", "b"],
            [(&first, Nanos(4_000)), (&second, Nanos(5_000))],
        )
    }

    /// Returns the colour of the box of a function.
    fn colour_of(picture: &str, function: &str) -> String {
        let marked = picture.split(&format!("<title>{function}: ")).nth(1).unwrap();
        let fill = marked.split("fill=\"").nth(1).unwrap();
        fill.split('"').next().unwrap().to_owned()
    }

    #[test]
    fn each_box_is_coloured_by_the_slower_side() {
        let picture = picture();
        assert_eq!(colour_of(&picture, "&lt;ext4&gt; &amp; co"), colour([1.0, 0.0]));
        assert_eq!(colour_of(&picture, "xfs"), colour([0.0, 1.0]));
        assert_eq!(colour_of(&picture, "[user]"), colour([1.0, 1.0]));
        assert!(picture.contains("<title>write: a 3.00 µs, b 4.00 µs</title>"), "{picture}");
        // One each for the title, the legend, `all` and every function.
        assert_eq!(picture.matches("<title>").count(), 6);
        assert_eq!(picture, self::picture());
    }

    #[test]
    fn names_stay_text() {
        let picture = picture();
        assert!(picture.contains("p: a &gt; b\\u{202e}"));
        let plain = picture.replace("http://www.w3.org/2000/svg", "");
        for forbidden in ["http", "href", "<script", "<ext4>", "& co"] {
            assert!(!plain.contains(forbidden), "{forbidden}");
        }
    }

    #[test]
    fn a_name_is_cut_to_its_box() {
        assert_eq!(fitting("do_syscall_64", 60.0).as_deref(), Some("do_sysc…"));
        assert_eq!(fitting("do_syscall_64", 20.0), None);
        assert_eq!(fitting("rw", 30.0).as_deref(), Some("rw"));
    }

    #[test]
    fn empty_profiles_give_an_empty_picture() {
        let none = CpuProfile::default();
        let picture = difference_flame_graph("t", ["a", "b"], [(&none, Nanos(0)); 2]);
        assert!(
            picture.ends_with("</svg>\n") && picture.contains("<title>all: a 0 ns, b 0 ns</title>")
        );
    }
}
