//! `virtual-time.toml`: phases whose ranking in virtual time is unreliable, with the measured
//! agreement.

use model::ExcludedPhase;

use crate::CatalogError;
use crate::catalog::document::{TomlSource, TomlTable, TomlValue};

const KEYS: [&str; 4] = ["phase", "reason", "same_order", "pairs"];
/// Maximum number of pairs. No campaign has more.
const MAX_PAIRS: u32 = 1 << 20;

/// Reads the file.
pub(crate) fn read(source: TomlSource<'_>) -> Result<Vec<ExcludedPhase>, CatalogError> {
    let document = source.parse()?;
    let top = TomlTable::top(source, &document, &["withheld"])?;
    let all = top.read("withheld", |v| v.list("phases, each under [[withheld]]"))?;
    all.unwrap_or_default().iter().map(phase).collect()
}

fn phase(value: &TomlValue<'_>) -> Result<ExcludedPhase, CatalogError> {
    let table = value.table(&KEYS)?;
    let count = |key| table.required(key)?.count(0..=MAX_PAIRS);
    let withheld = ExcludedPhase {
        phase: table.text("phase")?.parse().map_err(|why| table.error(why))?,
        reason: table.text("reason")?,
        same_order: count("same_order")?,
        pairs: count("pairs")?,
    };
    match withheld.same_order <= withheld.pairs && withheld.pairs > 0 {
        true => Ok(withheld),
        false => Err(table.error("`same_order` is counted among `pairs`".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(text: &str) -> Result<Vec<ExcludedPhase>, String> {
        let file = "virtual-time.toml";
        read(TomlSource { file, text }).map_err(|error| error.to_string())
    }

    #[test]
    fn a_phase_is_withheld_with_its_evidence_or_not_at_all() {
        assert_eq!(reading(""), Ok(Vec::new()));
        let whole = "[[withheld]]\nphase = \"tree/list\"\nreason = \"it waits\"\nsame_order = 2\npairs = 9\n";
        let read = reading(whole).unwrap();
        assert_eq!((read[0].same_order, read[0].pairs), (2, 9));
        assert_eq!(read[0].phase.to_string(), "tree/list");
        for (without, expected) in [
            ("reason = \"it waits\"\n", "missing key `reason`"),
            ("pairs = 9\n", "missing key `pairs`"),
        ] {
            let error = reading(&whole.replace(without, "")).unwrap_err();
            assert!(error.ends_with(expected), "{error}");
        }
        let error = reading(&whole.replace("= 2", "= 10")).unwrap_err();
        assert!(error.contains("counted among"), "{error}");
    }
}
