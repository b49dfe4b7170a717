//! Parameters of a test. Each has one value for all profiles or one per profile; sweep points and
//! studies override values.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use model::SizeProfile;

use crate::CatalogError;
use crate::catalog::document::{TomlTable, TomlValue};
use crate::suite::sweep::{ParsedPoint, RANGE};

/// Parameters that a study overrides, by test.
pub(crate) type StudyOverrides<'a> = BTreeMap<&'a str, TomlTable<'a>>;

/// The parameters of a test for one profile.
pub(crate) struct Parameters<'a> {
    values: BTreeMap<&'a str, TomlValue<'a>>,
    used: RefCell<BTreeSet<String>>,
}

impl<'a> Parameters<'a> {
    /// Reads `[test.parameters]`, if present, and adds the parameters of a sweep point. A study may
    /// override some of the values.
    pub fn read(
        test: &TomlTable<'a>,
        profile: SizeProfile,
        point: &ParsedPoint<'a>,
        instead: &StudyOverrides<'a>,
    ) -> Result<Self, CatalogError> {
        let mut values: BTreeMap<_, _> = point.parameters().collect();
        let name = test.required("name")?.name()?;
        let mut others: BTreeMap<_, _> = match instead.get(name.as_str()) {
            Some(table) => table.entries().collect(),
            None => BTreeMap::new(),
        };
        if let Some(table) = test.read("parameters", |v| v.any_table())? {
            for (name, value) in table.entries() {
                model::check_name(name).map_err(|e| value.error(format!("parameter {e}")))?;
                let resolved = for_profile(value, profile)?;
                let resolved = others.remove(name).unwrap_or(resolved);
                if values.insert(name, resolved).is_some() {
                    let message = format!("`{name}` is an axis of the sweep; leave it out here");
                    return Err(value.error(message));
                }
            }
        }
        if let Some((other, value)) = others.first_key_value() {
            let message = format!("the test `{name}` has no parameter `{other}`");
            return Err(value.error(message));
        }
        Ok(Self { values, used: RefCell::default() })
    }

    /// Returns the value of `"$name"`, placed at the reference.
    pub fn look_up(
        &self,
        name: &str,
        place: &TomlValue<'a>,
    ) -> Result<TomlValue<'a>, CatalogError> {
        let Some((name, value)) = self.values.get_key_value(name) else {
            let known: Vec<String> = self.values.keys().map(|k| format!("`${k}`")).collect();
            return Err(if known.is_empty() {
                place.expected_error("a value, for the test has no parameters")
            } else {
                place.expected_error(&format!("a value or one of: {}", known.join(", ")))
            });
        };
        self.used.borrow_mut().insert((*name).to_owned());
        Ok(value.under_key(place.key()))
    }

    /// Rejects unused parameters: they are misspelt or obsolete.
    pub fn check_all_used(&self) -> Result<(), CatalogError> {
        let used = self.used.borrow();
        match self.values.iter().find(|(name, _)| !used.contains(**name)) {
            None => Ok(()),
            Some((name, value)) => Err(value.error(format!(
                "parameter `{name}` is not used; use \"${name}\" in a phase or remove it"
            ))),
        }
    }
}

/// Resolves a value for a profile. A table has a value for every profile; a range or any other
/// value applies to all.
pub(crate) fn for_profile<'a>(
    value: TomlValue<'a>,
    profile: SizeProfile,
) -> Result<TomlValue<'a>, CatalogError> {
    if !value.is_table() || RANGE.iter().any(|key| value.contains_key(key)) {
        return Ok(value);
    }
    let names = SizeProfile::ALL.map(SizeProfile::name);
    Ok(value.table_by_key(&names)?[profile.name()])
}
