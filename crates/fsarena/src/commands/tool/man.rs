//! `fsarena tool man`: prints one manual page for all commands, generated from the descriptions of the
//! command line.

use std::io;
use std::process::ExitCode;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::args::cli::{Cli, EXIT_CODES, commands};
use crate::output::exit::ExitReason;
use crate::output::text::print_unwrapped;

/// Writes the manual page.
pub fn run() -> anyhow::Result<ExitCode> {
    print_unwrapped(&page()?)?;
    Ok(ExitReason::Success.into())
}

fn page() -> io::Result<String> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let man = Man::new(command.clone()).title("FSARENA").manual("fsarena");
    let mut page = section(|w| man.render_title(w))?;
    page += &section(|w| man.render_name_section(w))?;
    page += &section(|w| man.render_synopsis_section(w))?;
    page += &section(|w| man.render_description_section(w))?;
    page += &section(|w| man.render_options_section(w))?;
    for path in commands() {
        let found = path.iter().try_fold(&command, |above, name| above.find_subcommand(name));
        page += &of_command(found.ok_or_else(|| io::Error::other(path.join(" ")))?, &path)?;
    }
    page += ".SH EXAMPLES\n";
    page += &literal(&examples(&command));
    page += ".SH \"EXIT CODES\"\n";
    page += &literal(EXIT_CODES);
    Ok(page)
}

/// Formats one command under its heading. Global options are omitted, because the first part lists
/// them.
fn of_command(command: &Command, path: &[String]) -> io::Result<String> {
    let is_common = |argument: &clap::Arg| {
        argument.is_global_set() || matches!(argument.get_id().as_str(), "help" | "version")
    };
    let own = command.clone().mut_args(|a| {
        let common = is_common(&a);
        if common { a.hide(true) } else { a }
    });
    let has_options = own.get_arguments().any(|a| !a.is_hide_set());
    let man = Man::new(own);
    let mut text = section(|w| man.render_synopsis_section(w))?;
    text += &section(|w| man.render_description_section(w))?;
    if has_options {
        text += &section(|w| man.render_options_section(w))?;
    }
    let heading = format!(".SH \"FSARENA {}\"\n", path.join(" ").to_uppercase());
    let text = text.replace(".SH ", ".SS ");
    Ok(heading + &text + ".SS EXAMPLES\n" + &literal(&examples(command)))
}

/// Returns the output of `render` without the definitions at the start of every part.
fn section(render: impl Fn(&mut dyn io::Write) -> io::Result<()>) -> io::Result<String> {
    let mut part = Vec::new();
    render(&mut part)?;
    let text = String::from_utf8(part).map_err(io::Error::other)?;
    let kept = text.lines().filter(|l| !l.starts_with(".ie ") && !l.starts_with(".el "));
    Ok(kept.map(|l| format!("{}\n", l.replace("\\*(Aq", "\\(aq"))).collect())
}

/// Returns the text below a command's help.
fn examples(command: &Command) -> String {
    let help = command.get_after_long_help().or(command.get_after_help());
    help.map(ToString::to_string).unwrap_or_default()
}

/// Returns a text with unchanged lines.
fn literal(text: &str) -> String {
    let lines = text.lines().skip_while(|l| *l == "Examples:");
    let escaped = |line: &str| format!("\\&{}\n", line.replace('\\', "\\e").replace('-', "\\-"));
    format!(".nf\n{}.fi\n", lines.map(escaped).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_its_section_with_examples() {
        let page = page().unwrap();
        for path in commands() {
            let heading = format!(".SH \"FSARENA {}\"", path.join(" ").to_uppercase());
            assert!(page.contains(&heading), "{heading}");
        }
        assert!(!page.to_lowercase().contains("fsarena agent"));
        assert!(page.contains("130"), "exit codes");
    }
}
