//! `fsarena doctor --fix`: installs missing packages with apt-get.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal, Write};
use std::process::Command;

use crate::args::cli::DoctorArgs;
use crate::output::erase_question::answer;
use crate::output::exit::{EnvironmentError, UsageError};
use crate::output::text::print_note;
use crate::stop;

/// Installs the packages, after a question.
pub fn install(packages: &BTreeSet<String>, args: &DoctorArgs) -> anyhow::Result<()> {
    let names = packages.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
    if names.is_empty() {
        print_note("no package is missing");
        return Ok(());
    }
    if !args.yes {
        confirm(&names)?;
    }
    let apt = ["apt-get", "install", "--yes", "--no-install-recommends", "--no-remove"];
    let sudo = (!nix::unistd::geteuid().is_root()).then_some("sudo");
    let mut words = sudo.into_iter().chain(apt).chain(packages.iter().map(String::as_str));
    let program = words.next().unwrap_or_default();
    let status = Command::new(program).args(words).status().map_err(|error| {
        EnvironmentError(format!(
            "cannot run {program}: {error}; install these packages yourself: {names}"
        ))
    })?;
    match status.success() {
        true => Ok(()),
        false => Err(EnvironmentError(format!(
            "cannot install {names}: apt-get failed ({status}); `apt-get update` may help"
        ))
        .into()),
    }
}

fn confirm(names: &str) -> anyhow::Result<()> {
    if !io::stdin().is_terminal() {
        return Err(UsageError(format!(
            "cannot install {names} without confirmation: standard input is not a terminal; add --yes"
        ))
        .into());
    }
    let stop = stop::install_handlers()?;
    let mut terminal = io::stderr();
    write!(terminal, "Packages to install with apt-get: {names}\nType `yes` to install: ")?;
    terminal.flush()?;
    match answer(&stop)?.trim() {
        "yes" => Ok(()),
        _ => Err(EnvironmentError(
            "no package was installed: confirm by typing `yes` (or use --yes to skip the question)"
                .into(),
        )
        .into()),
    }
}
