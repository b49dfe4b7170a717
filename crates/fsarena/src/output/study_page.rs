//! Renders a published comparison as text: its measurements as printed, and the machine.

use std::collections::BTreeSet;

use studies::{Caveat, FigureSpec, FigureStatus, FigureValue, Study, StudyContender};

use crate::output::claims_text::summary;
use crate::output::text::{counted, label_and_wrap, line, terminal_width};

/// Width in columns if standard output is not a terminal.
const COLUMNS: usize = 80;
/// Spaces between columns.
const GAP: usize = 2;

/// Returns the whole page.
pub fn text(study: &Study) -> String {
    let mut text = head(study);
    for test in tests(study) {
        text += &format!("\n{test}\n");
        text += &tables(study, test);
    }
    text += &marks(study);
    let off = study.inconsistencies();
    text += &section("Does not add up", off.iter().map(|off| ("", line(off))));
    let hardware = study.hardware.iter();
    text += &section(
        "Machine, versions, commands",
        hardware.map(|(name, fact)| (name.as_str(), line(fact))),
    );
    text
}

fn head(study: &Study) -> String {
    let figures = &study.figures;
    let statuses = FigureStatus::ALL.into_iter().filter_map(|status| {
        let is_one = |cell: &FigureValue| cell.status == status && cell.range.is_none();
        let count = figures.cells().filter(|(_, _, cell)| is_one(cell)).count();
        (count > 0 && status != FigureStatus::Ok).then(|| format!("{count} {status}"))
    });
    let others: Vec<String> = statuses.collect();
    let others = match others.is_empty() {
        true => String::new(),
        false => format!("; {}", others.join(", ")),
    };
    let ranges = figures.cells().filter(|(_, _, cell)| cell.range.is_some()).count();
    let ranges = match ranges {
        0 => String::new(),
        ranges => format!(" and {}", counted(ranges as u64, "range")),
    };
    let facts = [
        ("source", line(&study.source)),
        (
            "figures",
            format!(
                "{}{ranges} of {}{others}",
                counted(study.figures.numbers() as u64, "number"),
                counted(figures.contenders.len() as u64, "contender")
            ),
        ),
        (
            "claims",
            format!("{} (fsarena study claims {})", summary(&study.evaluate_claims()), study.name),
        ),
        ("run again", format!("fsarena run --study {}", study.name)),
    ];
    let mut text = format!("{}: {}\n", study.name, line(&study.title));
    for (what, fact) in facts {
        text += &label_and_wrap(&format!("  {what:<9} "), &fact);
    }
    text
}

/// Returns the tests, in the order of the figures.
fn tests(study: &Study) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    let all = study.figures.figures.iter().map(|figure| figure.test.as_str());
    all.filter(|test| seen.insert(*test)).collect()
}

/// Formats the figures of a test: a row per figure, and as many columns of contenders as fit.
fn tables(study: &Study, test: &str) -> String {
    let all = &study.figures;
    let of_test: Vec<&FigureSpec> =
        all.figures.iter().filter(|figure| figure.test == test).collect();
    let has_any = |contender: &&StudyContender| {
        let named = |figure: &&FigureSpec| all.value(&contender.name, &figure.path()).is_some();
        of_test.iter().any(named)
    };
    let columns = all.contenders.iter().filter(has_any).map(|contender| {
        let cells = of_test.iter().map(|figure| {
            let found = all.value(&contender.name, &figure.path());
            found.map_or_else(String::new, |(_, cell)| {
                // A doubt about all contenders is not marked.
                let some = |doubt: &&Caveat| doubt.contenders.len() < all.contenders.len();
                let mut doubts = study.doubts.iter().filter(some);
                let doubtful = doubts.any(|doubt| is_of(doubt, contender, figure));
                shown(cell) + if doubtful { "*" } else { "" }
            })
        });
        let mut column = vec![contender.name.clone()];
        column.extend(cells);
        column
    });
    let columns: Vec<Vec<String>> = columns.collect();
    let mut names = vec![String::new()];
    names.extend(of_test.iter().map(|figure| {
        format!("{} {} {}", figure.phase, figure.metric, figure.unit).trim_end().to_owned()
    }));
    let width = |column: &[String]| column.iter().map(String::len).max().unwrap_or(0);
    let label = width(&names) + 2;
    let room = terminal_width().unwrap_or(COLUMNS);
    let mut text = String::new();
    let mut rest = &columns[..];
    while !rest.is_empty() {
        let mut used = label;
        let fits = rest.iter().take_while(|column| {
            used += GAP + width(column);
            used <= room
        });
        let (part, behind) = rest.split_at(fits.count().max(1));
        rest = behind;
        for (row, name) in names.iter().enumerate() {
            let mut row_text = format!("  {name:<width$}", width = label - 2);
            for column in part {
                row_text += &format!("{:>width$}", column[row], width = GAP + width(column));
            }
            text += row_text.trim_end();
            text.push('\n');
        }
        if !rest.is_empty() {
            text.push('\n');
        }
    }
    text
}

fn is_of(doubt: &Caveat, contender: &StudyContender, figure: &FigureSpec) -> bool {
    doubt.contenders.contains(&contender.name) && doubt.figures.contains(&figure.path())
}

/// Formats a cell: its number, its bounds, or the reason for a missing value.
fn shown(cell: &FigureValue) -> String {
    match (cell.value, cell.range) {
        (Some(_), _) if cell.censored => format!(">{}", cell.printed),
        _ if cell.censored => "+++++".to_owned(),
        (_, Some((low, high))) => format!("{low}…{high}"),
        (Some(_), None) => cell.printed.clone(),
        (None, None) => cell.status.name().to_owned(),
    }
}

/// Returns the explanation of the marks in the tables.
fn marks(study: &Study) -> String {
    let mut text = String::new();
    let is_untimed = |cell: &FigureValue| cell.censored && cell.value.is_none();
    if study.figures.cells().any(|(_, _, cell)| is_untimed(cell)) {
        text += "\n";
        text += &label_and_wrap("+++++  ", "ended too soon to be timed");
    }
    let same = study.doubts.chunk_by(|a, b| a.reason == b.reason);
    let doubts = same.map(|same| {
        let whose: Vec<String> = same.iter().map(|doubt| whose(doubt, study)).collect();
        ("", format!("{}: {}", whose.join("; "), line(&same[0].reason)))
    });
    text + &section("Doubtful (marked * if only some contenders are)", doubts)
}

/// Returns a short list of the contenders and figures of a doubt.
fn whose(doubt: &Caveat, study: &Study) -> String {
    let contenders = match &doubt.contenders[..] {
        few if few.len() <= 4 => few.join(", "),
        many => format!("{} contenders", many.len()),
    };
    // `*` also matches figures that these contenders do not have.
    let have = |path: &&String| {
        let mut contenders = doubt.contenders.iter();
        contenders.any(|name| study.figures.value(name, path).is_some())
    };
    let figures: Vec<&String> = doubt.figures.iter().filter(have).collect();
    let figures = match &figures[..] {
        [one] => (*one).clone(),
        many => {
            let tests: BTreeSet<&str> =
                many.iter().filter_map(|path| path.split('/').next()).collect();
            let tests: Vec<&str> = tests.into_iter().collect();
            format!("{} of {}", counted(many.len() as u64, "figure"), tests.join(", "))
        }
    };
    format!("{contenders}, {figures}")
}

fn section<'a>(title: &str, lines: impl Iterator<Item = (&'a str, String)>) -> String {
    let mut lines = lines.peekable();
    if lines.peek().is_none() {
        return String::new();
    }
    let mut text = format!("\n{title}\n");
    for (label, said) in lines {
        let label = match label {
            "" => "  ".to_owned(),
            label => format!("  {label}: "),
        };
        text += &label_and_wrap(&label, &said);
    }
    text
}

#[cfg(test)]
mod tests {
    use config::Catalog;

    use super::*;

    #[test]
    fn counts_in_the_head_match_the_study() {
        let study = |name: &str| {
            let study = Catalog::builtin().unwrap().study(name).unwrap();
            Study::read(&study).unwrap().unwrap()
        };
        let one = head(&study("vanninen-wang-2003"));
        assert!(one.contains("1 number of 7 contenders"), "{one}");
        let emerging = study("emerging-filesystems-2007");
        let mut doubt = emerging.doubts[0].clone();
        doubt.contenders = vec!["chunkfs-kernel".to_owned()];
        let all = emerging.figures.figures.iter();
        doubt.figures = all.map(FigureSpec::path).collect();
        let cells = emerging.figures.cells();
        let own = cells.filter(|(contender, ..)| contender.name == "chunkfs-kernel");
        let said = whose(&doubt, &emerging);
        assert!(
            said.starts_with(&format!("chunkfs-kernel, {} figures of ", own.count())),
            "{said}"
        );
    }

    #[test]
    fn study_page_matches_the_printed_figures() {
        let study = Catalog::builtin().unwrap();
        let study = study.study("os2-shootout-2002").unwrap();
        insta::assert_snapshot!(text(&Study::read(&study).unwrap().unwrap()));
    }
}
