//! Renders a published comparison as text: its measurements as printed, and the machine.

use std::collections::BTreeSet;

use studies::{FigureDoubt, FigureSpec, FigureStatus, FigureValue, Study, StudyContender};

use report::{Block, Document, Item, Style, Table, TableCell};

use crate::output::claims_text::summary;
use crate::output::text::{counted, document_text};

/// Returns the whole page.
pub fn text(study: &Study) -> String {
    document_text(&document(study))
}

fn document(study: &Study) -> Document {
    let mut document = Document::titled(format!("{}: {}", study.name, study.title));
    document.push(Block::Facts(head(study)));
    for test in tests(study) {
        document.section(test, [Block::Table(table(study, test))]);
    }
    let is_untimed = |cell: &FigureValue| cell.censored && cell.value.is_none();
    if study.figures.cells().any(|(_, _, cell)| is_untimed(cell)) {
        document.paragraph("+++++  ended too soon to be timed");
    }
    document.list("Doubtful (marked * if only some contenders are)", doubts(study));
    document.list("Does not add up", study.inconsistencies());
    let hardware = study.hardware.iter();
    let hardware = hardware.map(|(name, fact)| Item::new(name.as_str(), fact.as_str()));
    document.list("Machine, versions, commands", hardware);
    document
}

fn head(study: &Study) -> Vec<Item> {
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
    let figures = format!(
        "{}{ranges} of {}{others}",
        counted(study.figures.numbers() as u64, "number"),
        counted(figures.contenders.len() as u64, "contender")
    );
    let claims =
        format!("{} (fsarena study claims {})", summary(&study.evaluate_claims()), study.name);
    vec![
        Item::new("source", study.source.as_str()),
        Item::new("figures", figures),
        Item::new("claims", claims),
        Item::new("run again", format!("fsarena run --study {}", study.name)),
    ]
}

/// Returns the tests, in the order of the figures.
fn tests(study: &Study) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    let all = study.figures.figures.iter().map(|figure| figure.test.as_str());
    all.filter(|test| seen.insert(*test)).collect()
}

/// Returns the figures of a test: a row per figure, and a column per contender with any of them.
fn table(study: &Study, test: &str) -> Table {
    let all = &study.figures;
    let of_test: Vec<&FigureSpec> =
        all.figures.iter().filter(|figure| figure.test == test).collect();
    let has_any = |contender: &&StudyContender| {
        let named = |figure: &&FigureSpec| all.value(&contender.name, &figure.path()).is_some();
        of_test.iter().any(named)
    };
    let contenders: Vec<&StudyContender> = all.contenders.iter().filter(has_any).collect();
    let names = contenders.iter().map(|contender| contender.name.as_str());
    let rows = of_test.iter().map(|figure| {
        let cells = contenders.iter().map(|contender| {
            let Some((_, value)) = all.value(&contender.name, &figure.path()) else {
                return TableCell::default();
            };
            // A doubt about all contenders is not marked.
            let some = |doubt: &&FigureDoubt| doubt.contenders.len() < all.contenders.len();
            let mut doubts = study.doubts.iter().filter(some);
            let is_doubtful = doubts.any(|doubt| is_of(doubt, contender, figure));
            let signs = if is_doubtful { "*" } else { "" }.to_owned();
            TableCell { text: shown(value), signs, tone: Style::Plain }
        });
        let label = format!("{} {} {}", figure.phase, figure.metric, figure.unit);
        (label.trim_end().to_owned(), cells.collect())
    });
    Table::by_contender(names, rows)
}

fn is_of(doubt: &FigureDoubt, contender: &StudyContender, figure: &FigureSpec) -> bool {
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

/// Returns the doubts about figures, each reason once.
fn doubts(study: &Study) -> impl Iterator<Item = Item> {
    let same = study.doubts.chunk_by(|a, b| a.reason == b.reason);
    same.map(|same| {
        let whose: Vec<String> = same.iter().map(|doubt| whose(doubt, study)).collect();
        Item::new(whose.join("; "), same[0].reason.as_str())
    })
}

/// Returns a short list of the contenders and figures of a doubt.
fn whose(doubt: &FigureDoubt, study: &Study) -> String {
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
        assert!(one[1].text.starts_with("1 number of 7 contenders"), "{one:?}");
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
