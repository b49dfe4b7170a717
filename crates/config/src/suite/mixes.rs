//! The phases derived from a mix: each role alone before it, and the result of each role after it.

use model::{Mix, Op, Phase, RoleResult};

/// Returns the mix and its roles as phases. A mix with a single role has no separate role results.
///
/// # Errors
/// Returns an error if the name of such a phase would be invalid.
pub(crate) fn phases(phase: &Phase, mix: &Mix, alone: bool) -> Result<Vec<Phase>, String> {
    if mix.roles.len() < 2 {
        return match alone {
            true => Err("`alone` cannot be used for a mix with one role".into()),
            false => Ok(vec![phase.clone()]),
        };
    }
    let before = mix.roles.iter().filter(|_| alone).map(|role| Phase {
        name: format!("alone.{}", role.name),
        // With a time limit, slow contenders would leave different files for the mix.
        at_most: None,
        op: Op::Mix(mix.only(role)),
        ..phase.clone()
    });
    let behind = mix.roles.iter().map(|role| Phase {
        name: format!("{}.{}", phase.name, role.name),
        at_most: None,
        op: Op::RoleResult(RoleResult {
            mix_phase: phase.name.clone(),
            role: role.name.clone(),
            mix: mix.clone(),
        }),
        ..phase.clone()
    });
    let all: Vec<Phase> = before.chain([phase.clone()]).chain(behind).collect();
    for phase in &all {
        model::check_name(&phase.name).map_err(|error| error.to_string())?;
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use model::{CacheState, Nanos, SizeProfile, Test};

    use crate::CatalogError;
    use crate::catalog::document::TomlSource;
    use crate::suite::suite_file;

    const SUITE: &str = r#"
name = "mixes"
title = "Mixes"
source = "made for a test"
[[test]]
name = "mail"
rationale = "none"
space = "64 MiB"
parameters = { messages = 20 }
phase = [
    { name = "spool", op = "create", set = "spool", files = 40, directories = 2, size = "4 KiB", spread = "log-normal",
      order = "random", fsync = false, cache = "warm", ends = "syncfs" },
    { name = "mix", op = "mix", alone = true, until = "deliver", cache = "cold", ends = "call", at_most = "2 s", role = [
        { name = "deliver", threads = 2, cycles = "$messages", rate = 10, set = "spool", steps = ["delete", "create", "close"] },
        { name = "look", cycles = 7, set = "spool", steps = ["stat", "think 2 ms"] },
    ] },
]
"#;

    fn read(text: &str) -> Result<Test, CatalogError> {
        let source = TomlSource { file: "mixes.toml", text };
        let scaling = crate::Catalog::builtin().unwrap().profile(SizeProfile::Quick).scaling;
        let (mut suite, _) = suite_file::read(source, SizeProfile::Quick, Some(scaling))?;
        Ok(suite.tests.remove(0))
    }

    #[test]
    fn roles_run_alone_before_their_mix_and_report_after_it() {
        let test = read(SUITE).unwrap();
        let names: Vec<&str> = test.phases.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(
            names,
            ["spool", "alone.deliver", "alone.look", "mix", "mix.deliver", "mix.look"]
        );
        let limits = test.phases.iter().map(|phase| phase.at_most);
        let limit = Some(Nanos::from_secs(2));
        assert_eq!(limits.collect::<Vec<_>>(), [None, None, None, limit, None, None]);
        for phase in &test.phases[1..] {
            assert_eq!((phase.cache, phase.scaling), (CacheState::Cold, None));
        }
        let model::Op::Mix(alone) = &test.phases[1].op else { panic!("{:?}", test.phases[1]) };
        let role = &alone.roles[0];
        assert_eq!((alone.roles.len(), alone.until.as_ref()), (1, None));
        assert_eq!((role.threads, role.cycles, role.rate), (2, 20, Some(10)));
    }

    #[test]
    fn invalid_mixes_are_rejected_with_their_line() {
        for (from, to, line, why) in [
            ("\"stat\"", "\"stare\"", 15, "`stare` is no step"),
            ("think 2 ms", "think soon", 15, "a time such as"),
            ("think 2 ms", "log 4 KiB", 13, "runs until another"),
            ("cycles = 7", "cycles = 0", 15, "`cycles` is `0`"),
            ("cycles = 7", "cycle = 7", 15, "unknown key `cycle`"),
            ("until = \"deliver\"", "until = \"who\"", 13, "`until` names no role"),
            ("name = \"look\"", "name = \"deliver\"", 13, "two"),
            ("files = 40", "files = 2", 13, "needs 1 files of `spool` for each thread"),
        ] {
            assert!(SUITE.contains(from), "{from}");
            let said = match read(&SUITE.replace(from, to)) {
                Err(error) => error.to_string(),
                Ok(test) => format!("{:?}", test.phases.len()),
            };
            assert!(said.contains(why), "{to}: {said}");
            assert!(said.contains(&format!(":{line}")), "{to}: {said}");
        }
    }

    #[test]
    fn mix_of_one_role_has_no_separate_role_results() {
        let (before, rest) = SUITE.split_once("        { name = \"look\"").unwrap();
        let (_, behind) = rest.split_once("\n").unwrap();
        let one = format!("{before}{behind}");
        let refused = read(&one).unwrap_err().to_string();
        assert!(refused.contains("`alone` cannot be used"), "{refused}");
        let test = read(&one.replace("alone = true, ", "")).unwrap();
        assert_eq!(test.phases.len(), 2);
    }
}
