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

    /// Returns the value of a parameter as a word of a command, or `None` if no parameter has this
    /// name.
    pub fn text(&self, name: &str) -> Option<String> {
        let text = self.values.get(name)?.word()?;
        self.used.borrow_mut().insert(name.to_owned());
        Some(text)
    }

    /// Rejects unused parameters: they are misspelt or obsolete.
    pub fn check_all_used(&self) -> Result<(), CatalogError> {
        let used = self.used.borrow();
        match self.values.iter().find(|(name, _)| !used.contains(**name)) {
            None => Ok(()),
            Some((name, value)) => Err(value.error(format!(
                "parameter `{name}` is not used; use \"${name}\" in a phase, or \"${{{name}}}\" within a command, or remove it"
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
    let names = SizeProfile::SIZES.map(SizeProfile::name);
    Ok(value.table_by_key(&names)?[profile.sizes().name()])
}

#[cfg(test)]
mod tests {
    use model::Exec;

    use super::*;
    use crate::catalog::document::TomlSource;
    use crate::suite::suite_file;

    /// Returns the command of a suite with these parameters, or the error.
    fn command(parameters: &str, command: &str) -> Result<Exec, String> {
        let text = format!(
            "name = \"s\"\ntitle = \"S\"\nsource = \"a test\"\n[[test]]\nname = \"s\"\nrationale = \"R\"\n\
             space = \"1 MiB\"\n[test.parameters]\n{parameters}\n[[test.phase]]\nname = \"p\"\nop = \"exec\"\n\
             command = {command}\n"
        );
        let source = TomlSource { file: "s.toml", text: &text };
        let suite = suite_file::read(source, SizeProfile::Quick, None);
        let (suite, _) = suite.map_err(|error| error.to_string())?;
        match &suite.tests[0].phases[0].op {
            model::Op::Exec(exec) => Ok(exec.clone()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_command_contains_the_values_of_parameters_and_keeps_variables_of_the_shell() {
        let parameters = "rows = { smoke = 1, quick = 20, standard = 3, study = 4 }\nsize = \"0022\"\nis-on = true\n\
                          all = \"--rows=$rows $other\"";
        let filled =
            command(parameters, r#"'sh -c "run $all ${size} ${is-on} $rows_of $HOME $! $"'"#)
                .unwrap();
        assert_eq!(filled.command, r#"sh -c "run --rows=20 $other 0022 true $rows_of $HOME $! $""#);
    }

    #[test]
    fn parameters_that_use_each_other_without_end_and_unused_ones_are_safe() {
        let endless = command("a = \"$b\"\nb = \"$a\"", "\"run $a\"").unwrap();
        assert!(endless.command.starts_with("run $"), "{}", endless.command);
        let unused = command("rows = 3\nother = 4", "\"run $rows\"").unwrap_err();
        assert!(unused.contains("parameter `other` is not used"), "{unused}");
    }
}
