//! Layout of the screen: a pure function of the state, the scroll position and the screen size.

use model::{Status, Unit};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use report::{UnitScale, wrap};
use unicode_width::UnicodeWidthStr;

use crate::output::cost_page::format_duration;
use crate::output::text::line;
use crate::watch::live::LiveStep;
use crate::watch::state::{CampaignState, GridCell, WatchState, is_failure, name};

/// Spaces between two columns.
const GAP: usize = 2;
/// Maximum numbers of lines for failures and for the newest result.
const FAILURES: usize = 4;
const NEWEST: usize = 3;
/// Maximum number of lines for the steps of running cells.
const LIVE: usize = 4;
/// Minimum number of grid rows; the parts below the grid are shortened to fit them.
const MIN_ROWS: usize = 6;
/// Width of a column heading. A test name is wrapped after hyphens at about this many characters;
/// longer parts are cut.
const HEADING: usize = 9;
const MAX_PART: usize = 18;
/// Minimum and maximum width of the bar, in columns.
const BAR: [usize; 2] = [8, 30];

const PLAIN: Style = Style::new();
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const DIM_STYLE: Style = Style::new().add_modifier(Modifier::DIM);
const WORST_STYLE: Style = Style::new().fg(Color::Red);
const NOW: Style = Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD);

/// Scroll position of the grid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scroll {
    /// Index of the first contender shown.
    pub row: usize,
    /// Index of the first test shown.
    pub column: usize,
}

impl Scroll {
    /// Returns a position moved by this number of contenders and tests.
    pub const fn moved(self, rows: isize, columns: isize) -> Self {
        Self {
            row: self.row.saturating_add_signed(rows),
            column: self.column.saturating_add_signed(columns),
        }
    }

    /// Limits the position so that the last contender and the last test stay visible.
    pub fn within(self, state: &WatchState, area: Rect) -> Self {
        let parts = ScreenParts::of(state, area);
        let grid = Grid::of(state);
        let last_column = (0..state.tests.len())
            .find(|first| grid.shown_from(*first, parts.width) == state.tests.len() - first)
            .unwrap_or_else(|| state.tests.len().saturating_sub(1));
        Self {
            row: self.row.min(state.rows.len().saturating_sub(parts.rows)),
            column: self.column.min(last_column),
        }
    }
}

/// Lines outside of the grid, and the number of grid rows that fit.
struct ScreenParts {
    width: usize,
    failures: Vec<String>,
    newest: Vec<String>,
    rows: usize,
}

impl ScreenParts {
    fn of(state: &WatchState, area: Rect) -> Self {
        /// Lines for title, bar, running cells and a blank line, and two lines at the end.
        const FRAME: usize = 6;
        let (width, height) = (usize::from(area.width), usize::from(area.height));
        let heading = Grid::of(state).heading;
        let needed = state.rows.len().min(MIN_ROWS);
        let steps = live_lines(state, width).len();
        let mut room = height.saturating_sub(FRAME + steps + heading + needed);
        let take = |lines: Vec<String>, most: usize, room: &mut usize| -> Vec<String> {
            // They are preceded by a blank line.
            let count = lines.len().min(most).min(room.saturating_sub(1));
            *room -= if count > 0 { count + 1 } else { 0 };
            lines.into_iter().take(count).collect()
        };
        let failures = state.failures.iter().map(|failure| cut(failure, width));
        let failures = take(failures.collect(), FAILURES, &mut room);
        let newest = state.newest.iter();
        let newest = newest.flat_map(|newest| wrap(&format!("last: {newest}"), width.max(20)));
        let newest = take(newest.collect(), NEWEST, &mut room);
        Self { width, failures, newest, rows: (needed + room).min(state.rows.len()) }
    }
}

/// Column widths of the grid.
struct Grid {
    names: usize,
    columns: Vec<(Vec<String>, usize)>,
    /// Number of heading lines.
    heading: usize,
}

impl Grid {
    fn of(state: &WatchState) -> Self {
        let names = state.rows.iter().map(|row| row.contender.width()).max();
        let column = |(place, test): (usize, &String)| {
            let heading = heading(&line(test));
            let squares = state.rows.iter().map(|row| said(&row.squares[place]).0);
            let width = |text: &str| text.width();
            let of_squares = squares.map(|text| width(&text)).max().unwrap_or(0);
            let of_heading = heading.iter().map(|text| width(text)).max().unwrap_or(0);
            (heading, of_squares.max(of_heading))
        };
        let columns: Vec<_> = state.tests.iter().enumerate().map(column).collect();
        Self {
            names: names.unwrap_or(0),
            heading: columns.iter().map(|(lines, _)| lines.len()).max().unwrap_or(0),
            columns,
        }
    }

    /// Returns the width of the name column: at most a third of the screen, unless too narrow for a
    /// test.
    fn names(&self, width: usize) -> usize {
        self.names.min((width / 3).max(12))
    }

    /// Returns the number of tests that fit from this one on, at least 1.
    fn shown_from(&self, first: usize, width: usize) -> usize {
        let mut room = width.saturating_sub(self.names(width));
        let mut shown = 0;
        for (_, column) in &self.columns[first.min(self.columns.len())..] {
            let needed = column + GAP;
            if needed > room && shown > 0 {
                break;
            }
            room = room.saturating_sub(needed);
            shown += 1;
        }
        shown
    }
}

/// Draws everything.
pub fn draw(state: &WatchState, scroll: Scroll, area: Rect, buffer: &mut Buffer) {
    let scroll = scroll.within(state, area);
    let parts = ScreenParts::of(state, area);
    let mut pen = LineWriter { area, buffer, y: 0 };
    head(state, &mut pen);
    pen.next();
    grid(state, scroll, &parts, &mut pen);
    for (lines, style) in [(&parts.failures, WORST_STYLE), (&parts.newest, PLAIN)] {
        if !lines.is_empty() {
            pen.next();
        }
        for text in lines {
            pen.line(text, style);
        }
    }
    pen.y = usize::from(area.height).saturating_sub(2).max(pen.y);
    foot(state, scroll, &parts, &mut pen);
}

/// Renders the whole state as text, with all contenders and as many tests as fit. The text remains
/// on the terminal.
pub fn text(state: &WatchState, width: u16) -> String {
    let plenty = u16::try_from(state.rows.len() + 60).unwrap_or(u16::MAX);
    let area = Rect::new(0, 0, width, plenty);
    let mut buffer = Buffer::empty(area);
    let parts = ScreenParts::of(state, area);
    let mut pen = LineWriter { area, buffer: &mut buffer, y: 0 };
    head(state, &mut pen);
    pen.next();
    grid(state, Scroll::default(), &parts, &mut pen);
    if !parts.failures.is_empty() {
        pen.next();
    }
    for text in &parts.failures {
        pen.line(text, PLAIN);
    }
    let lines = pen.y;
    let lines = (0..lines).map(|y| {
        let row = (0..width).map(|x| buffer[(x, y as u16)].symbol());
        row.collect::<String>().trim_end().to_owned() + "\n"
    });
    lines.collect()
}

/// Writes lines until the area is full.
struct LineWriter<'a> {
    area: Rect,
    buffer: &'a mut Buffer,
    y: usize,
}

impl LineWriter<'_> {
    fn next(&mut self) {
        self.y += 1;
    }

    /// Writes text at a column of this line.
    fn at(&mut self, x: usize, text: &str, style: Style) {
        let (width, height) = (usize::from(self.area.width), usize::from(self.area.height));
        if x >= width || self.y >= height {
            return;
        }
        let (column, row) = (self.area.x + x as u16, self.area.y + self.y as u16);
        self.buffer.set_stringn(column, row, text, width - x, style);
    }

    fn line(&mut self, text: &str, style: Style) {
        let shown = cut(text, self.area.width.into());
        self.at(0, &shown, style);
        self.next();
    }
}

fn head(state: &WatchState, pen: &mut LineWriter<'_>) {
    pen.line(&state.title, BOLD);
    pen.line(&how_far(state, pen.area.width.into()), PLAIN);
    match (state.stage, &state.running[..]) {
        (CampaignState::Running, []) => {
            pen.line("no test runs: it prepares, measures or cleans up", PLAIN);
        }
        (CampaignState::Running, running) => {
            let cells =
                running.iter().map(|now| format!("{}, for {}", name(&now.cell), now.elapsed));
            pen.line(&format!("now: {}", cells.collect::<Vec<_>>().join(" │ ")), NOW);
            for text in live_lines(state, pen.area.width.into()) {
                pen.line(&text, PLAIN);
            }
        }
        (CampaignState::Complete, _) => {
            pen.line("complete", BOLD);
        }
        (CampaignState::Stopped, _) => {
            pen.line("stopped", BOLD);
        }
    }
}

/// Returns a line for each running cell with the progress of its current step: the share that is done,
/// and the rate over the last intervals.
fn live_lines(state: &WatchState, width: usize) -> Vec<String> {
    let steps = state.running.iter().filter_map(|now| now.live.as_ref());
    let one_line = |step: &LiveStep| {
        let percent = step.percent().map_or_else(String::new, |percent| format!(" {percent} %"));
        let head = format!("     {}{percent}", line(&step.step));
        let rates: Vec<f64> = step.rates.iter().copied().collect();
        let Some(last) = rates.last().filter(|_| rates.iter().any(|rate| *rate > 0.0)) else {
            return head;
        };
        let tail = format!(" {}", UnitScale::for_values(Unit::PerSecond, [*last]).with_unit(*last));
        let room = width.saturating_sub(head.width() + tail.width() + 1);
        let shown = rates.len().saturating_sub(room);
        format!("{head} {}{tail}", report::bar_line(&rates[shown..]))
    };
    steps.take(LIVE).map(one_line).collect()
}

/// A progress bar with its text.
fn how_far(state: &WatchState, width: usize) -> String {
    let mut words = format!("{}/{} test runs", state.done, state.planned);
    if state.stage == CampaignState::Running {
        let bound = if state.within_budget { "at most" } else { "about" };
        words += &format!(", {bound} {} left", format_duration(state.time_left));
    }
    let not_ok = state.unsuccessful.iter().rev();
    let not_ok: Vec<String> = not_ok.map(|(status, count)| format!("{count} {status}")).collect();
    if !not_ok.is_empty() {
        words += &format!("; {}", not_ok.join(", "));
    }
    let [least, most] = BAR;
    let bar = width.saturating_sub(words.width() + 1).clamp(least, most);
    let full = (bar * state.done).checked_div(state.planned).unwrap_or(bar);
    let rest = bar.saturating_sub(full);
    format!("{}{} {words}", "━".repeat(full), "─".repeat(rest))
}

fn grid(state: &WatchState, scroll: Scroll, parts: &ScreenParts, pen: &mut LineWriter<'_>) {
    let grid = Grid::of(state);
    let count = grid.shown_from(scroll.column, parts.width);
    let names = grid.names(parts.width);
    let columns = || grid.columns.iter().skip(scroll.column).take(count);
    for number in 0..grid.heading {
        let mut x = names;
        for (lines, width) in columns() {
            // Headings with fewer lines are aligned at the bottom.
            let place = (number + lines.len()).checked_sub(grid.heading);
            let text = place.map_or("", |place| &lines[place]);
            pen.at(x + GAP + width - text.width(), text, DIM_STYLE);
            x += GAP + width;
        }
        pen.next();
    }
    for row in state.rows.iter().skip(scroll.row).take(parts.rows) {
        pen.at(0, &shortened(&line(&row.contender), names), PLAIN);
        let mut x = names;
        for (square, (_, width)) in row.squares.iter().skip(scroll.column).zip(columns()) {
            let (text, style) = said(square);
            pen.at(x + GAP + width - text.width(), &text, style);
            x += GAP + width;
        }
        pen.next();
    }
}

fn foot(state: &WatchState, scroll: Scroll, parts: &ScreenParts, pen: &mut LineWriter<'_>) {
    pen.line(
        "1.00: best in every phase so far, 2.00: costs twice as much, …: rounds to come",
        DIM_STYLE,
    );
    let columns = Grid::of(state).shown_from(scroll.column, parts.width);
    let (rows, tests) = (state.rows.len(), state.tests.len());
    let range = |what: &str, first: usize, shown: usize, all: usize| {
        (shown < all).then(|| format!("{what} {} to {} of {all}", first + 1, first + shown))
    };
    let ranges = [
        range("filesystems", scroll.row, parts.rows, rows),
        range("tests", scroll.column, columns, tests),
    ];
    let shown: Vec<String> = ranges.into_iter().flatten().collect();
    let keys = match shown.is_empty() {
        true => "q: leave (the campaign continues)".to_owned(),
        false => format!("q: leave; arrows: {}", shown.join(", ")),
    };
    pen.line(&keys, DIM_STYLE);
}

/// Returns the text and style of a square.
fn said(square: &GridCell) -> (String, Style) {
    let running = if square.runs { "▸" } else { "" };
    let more = match square.done {
        0 => "",
        done if done < square.planned => "…",
        _ => "",
    };
    let (text, style) = match (square.worst, square.cost) {
        (Some(status), _) if is_failure(status) => (status.to_string(), WORST_STYLE),
        (Some(Status::Unsupported), _) => (Status::Unsupported.to_string(), DIM_STYLE),
        (Some(_), Some(cost)) => (
            UnitScale::for_values(Unit::Ratio, [cost]).number(cost),
            if cost < 1.005 { BOLD } else { PLAIN },
        ),
        (Some(_), None) if square.done < square.planned => {
            let text = format!("{running}{}/{}", square.done, square.planned);
            return (text, if square.runs { NOW } else { PLAIN });
        }
        (Some(_), None) => ("ok".to_owned(), PLAIN),
        (None, _) if square.planned == 0 => return (String::new(), PLAIN),
        (None, _) => ((if square.runs { "" } else { "·" }).to_owned(), DIM_STYLE),
    };
    let style = match square.runs {
        true if style != WORST_STYLE => NOW,
        _ => style,
    };
    (format!("{running}{text}{more}"), style)
}

/// Splits a name into lines after its hyphens.
fn heading(name: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in name.split_inclusive('-') {
        match lines.last_mut() {
            Some(last) if last.width() + part.width() <= HEADING => last.push_str(part),
            _ => lines.push(part.to_owned()),
        }
    }
    lines.iter().map(|text| shortened(text, MAX_PART)).collect()
}

/// Cuts a text to this number of columns, with an ellipsis.
fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut shown = String::new();
    for c in text.chars() {
        if shown.width() + c.to_string().width() >= columns {
            break;
        }
        shown.push(c);
    }
    shown + "…"
}

/// Shortens a name to this number of columns, with an ellipsis in the middle, because both ends
/// distinguish names.
fn shortened(name: &str, columns: usize) -> String {
    let width = name.width();
    if width <= columns {
        return name.to_owned();
    }
    let end = columns.saturating_sub(1) / 2;
    let mut tail = String::new();
    for c in name.chars().rev() {
        if tail.width() + c.to_string().width() > end {
            break;
        }
        tail.insert(0, c);
    }
    let begin = cut(name, columns.saturating_sub(tail.width()));
    begin + &tail
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use model::{Cell, CellId, Nanos};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;
    use crate::watch::state::{GridRow, RunningCell};

    const TESTS: [&str; 7] = [
        "bonnie-block",
        "bonnie-files",
        "tree",
        "durable",
        "large-file",
        "concurrency-names",
        "features",
    ];

    fn cell(contender: &str, test: &str) -> Cell {
        Cell {
            id: CellId(0),
            contender: contender.into(),
            suite: "a".into(),
            test: test.into(),
            round: 2,
            seed: 1,
        }
    }

    fn square(planned: u32, done: u32, worst: Option<Status>, cost: Option<f64>) -> GridCell {
        GridCell { planned, done, worst, cost, runs: false }
    }

    /// Creates a state with these contenders in their second round.
    fn state(contenders: &[String]) -> WatchState {
        let ok = Some(Status::Ok);
        let row = |(place, contender): (usize, &String)| GridRow {
            contender: contender.clone(),
            squares: vec![
                square(3, 3, ok, Some(1.0 + place as f64 / 4.0)),
                square(3, 2, ok, Some(1.0 + (place * place) as f64)),
                square(3, 1, ok, None),
                match place % 3 {
                    0 => square(3, 1, Some(Status::Failed), None),
                    _ => square(3, 0, None, None),
                },
                square(3, 0, None, None),
                square(0, 0, None, None),
                match place % 4 {
                    1 => square(1, 1, Some(Status::Unsupported), None),
                    _ => square(1, 1, ok, None),
                },
            ],
        };
        let running = vec![RunningCell {
            cell: cell(&contenders[0], "tree"),
            elapsed: Nanos::from_secs(12),
            live: None,
        }];
        let state = WatchState {
            title: "campaign 7 “nightly”: quick, loop, 3 rounds".into(),
            stage: CampaignState::Running,
            planned: 120,
            done: 61,
            unsuccessful: BTreeMap::from([(Status::Unsupported, 2), (Status::Failed, 3)]),
            time_left: Nanos(0),
            within_budget: false,
            running: Vec::new(),
            tests: TESTS.map(String::from).into(),
            rows: contenders.iter().enumerate().map(row).collect(),
            failures: vec![
                "ntfs-3g · durable · round 1: failed: fsync of `f`: EIO".into(),
                "exfat-fuse · durable · round 1: crashed: the driver ended with signal 11, and what it had said \
                 before was: no such thing"
                    .into(),
            ],
            newest: Some("xfs · bonnie-block · round 2: write 1580 MB/s, read 984 MB/s".into()),
        };
        state.with_progress(running, Nanos::from_secs(750))
    }

    fn contenders(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn shown(state: &WatchState, scroll: Scroll, width: u16, height: u16) -> TestBackend {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(state, scroll, frame.area(), frame.buffer_mut())).unwrap();
        terminal.backend().clone()
    }

    #[test]
    fn a_campaign_on_a_screen_of_80_by_24() {
        let state = state(&contenders(&["ext4", "xfs", "btrfs", "ntfs-3g", "exfat-fuse"]));
        insta::assert_snapshot!("some", shown(&state, Scroll::default(), 80, 24));
    }

    #[test]
    fn the_current_step_has_its_share_and_its_rate_over_time() {
        let mut state = state(&contenders(&["ext4", "xfs"]));
        let rates = (0..70).map(|at| if at % 7 == 6 { 0.0 } else { f64::from(at) * 10.0 });
        state.running[0].live = Some(LiveStep {
            step: "extract".into(),
            done: 450,
            total: Some(1000),
            rates: rates.collect(),
        });
        insta::assert_snapshot!("live", shown(&state, Scroll::default(), 80, 24));
        state.running[0].live = Some(LiveStep { step: "mkfs".into(), ..LiveStep::default() });
        assert_eq!(live_lines(&state, 80), ["     mkfs"]);
    }

    #[test]
    fn scrolls_forty_contenders_and_shows_the_visible_range() {
        let names: Vec<String> = (1..=40).map(|number| format!("contender-{number}")).collect();
        let state = state(&names);
        insta::assert_snapshot!("forty", shown(&state, Scroll::default(), 80, 24));
        let far = Scroll::default().moved(isize::MAX, isize::MAX);
        insta::assert_snapshot!("forty-end", shown(&state, far, 80, 24));
        let area = Rect::new(0, 0, 80, 24);
        let end = far.within(&state, area);
        assert_eq!(end.moved(1, 1).within(&state, area), end);
        assert_eq!(end.moved(isize::MIN, isize::MIN), Scroll::default());
    }

    #[test]
    fn names_that_are_too_long_keep_both_ends() {
        let names = contenders(&[
            "ext4:data=journal,commit=60@memory=64MiB,disk=hdd-2003-7200",
            "ext4:data=journal,commit=60@memory=64MiB,disk=sata-ssd",
            "測試測試測試測試測試測試測試測試測試",
        ]);
        let mut state = state(&names);
        state.title = format!("campaign 7 “{}”: quick, loop, 3 rounds", "long ".repeat(20));
        state.tests[3] = "averyveryverylongnamewithoutahyphen-of-a-test".into();
        insta::assert_snapshot!("long", shown(&state, Scroll::default(), 80, 24));
    }

    #[test]
    fn a_campaign_in_which_all_failed() {
        let mut state = state(&contenders(&["ext4", "xfs"]));
        let all = [Status::Failed, Status::Crashed, Status::Hung, Status::Skipped];
        for (place, square) in state.rows.iter_mut().flat_map(|row| &mut row.squares).enumerate() {
            *square = super::GridCell {
                planned: 3,
                done: 3,
                worst: Some(all[place % all.len()]),
                ..GridCell::default()
            };
        }
        state.failures = (0..8)
            .map(|number| format!("xfs · tree · round {number}: hung: no sign of life"))
            .collect();
        (state.stage, state.done) = (CampaignState::Complete, 120);
        insta::assert_snapshot!("failed", shown(&state, Scroll::default(), 80, 24));
        insta::assert_snapshot!("failed-text", text(&state, 80));
    }

    #[test]
    fn a_screen_of_any_size_is_drawn() {
        let state = state(&contenders(&["ext4", "xfs", "btrfs"]));
        for width in [1, 2, 7, 20, 79, 200] {
            for height in [1, 2, 5, 9, 14, 60] {
                let scroll = Scroll { row: 2, column: 3 };
                shown(&state, scroll, width, height);
            }
            text(&state, width);
        }
        insta::assert_snapshot!("small", shown(&state, Scroll::default(), 40, 12));
        let nothing = WatchState { rows: Vec::new(), tests: Vec::new(), ..state };
        shown(&nothing, Scroll { row: 2, column: 3 }, 80, 24);
    }
}
