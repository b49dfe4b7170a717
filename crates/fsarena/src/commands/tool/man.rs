//! `fsarena tool man`: prints one manual page for all commands, or writes one page for each command,
//! generated from the descriptions of the command line.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::args::cli::{Cli, EXIT_CODES, commands};
use crate::args::tool_args::ManArgs;
use crate::output::exit::{EnvironmentError, ExitReason};
use crate::output::output_file;
use crate::output::text::print_unwrapped;

/// Prints the manual page, or writes the pages into a directory.
pub fn run(args: &ManArgs) -> anyhow::Result<ExitCode> {
    match &args.directory {
        Some(directory) => write_pages(directory)?,
        None => print_unwrapped(&page()?)?,
    }
    Ok(ExitReason::Success.into())
}

fn write_pages(directory: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(directory).map_err(|error| {
        EnvironmentError(format!(
            "cannot write {}: {error}; choose another directory",
            directory.display()
        ))
    })?;
    for (name, page) in pages()? {
        let path = directory.join(format!("{name}.1"));
        output_file::write(&path, page.as_bytes())?;
    }
    Ok(())
}

fn whole_command() -> Command {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    command
}

/// Returns a page for the program and one for each command, with their names.
fn pages() -> io::Result<Vec<(String, String)>> {
    let whole = whole_command();
    let mut pages = Vec::new();
    for path in [Vec::new()].into_iter().chain(commands()) {
        let found = path.iter().try_fold(&whole, |above, name| above.find_subcommand(name));
        let command = found.ok_or_else(|| io::Error::other(path.join(" ")))?;
        let name = [&["fsarena".to_owned()], &path[..]].concat().join("-");
        let man = Man::new(command.clone()).title(name.to_uppercase()).manual("fsarena");
        let mut page = String::new();
        for render in [Man::render_title, Man::render_name_section, Man::render_synopsis_section] {
            page += &section(|w| render(&man, w))?;
        }
        page += &section(|w| man.render_description_section(w))?;
        page += &section(|w| man.render_options_section(w))?;
        if command.has_subcommands() {
            page += &list_below(command);
        }
        page += &format!(".SH EXAMPLES\n{}", literal(&examples(command)));
        match path.is_empty() {
            true => page += &format!(".SH \"EXIT CODES\"\n{}", literal(EXIT_CODES)),
            false => page += ".SH \"SEE ALSO\"\n\\fBfsarena\\fR(1)\n",
        }
        pages.push((name, page));
    }
    Ok(pages)
}

/// Lists the commands below a command, without hidden ones.
fn list_below(command: &Command) -> String {
    let shown = command.get_subcommands().filter(|one| !one.is_hide_set());
    let entries = shown.map(|one| {
        let name = one.get_display_name().unwrap_or_else(|| one.get_name()).replace('-', "\\-");
        let about = one.get_about().map(ToString::to_string).unwrap_or_default();
        format!(".TP\n\\fB{name}\\fR(1)\n{}\n", about.replace('-', "\\-"))
    });
    format!(".SH COMMANDS\n{}", entries.collect::<String>())
}

fn page() -> io::Result<String> {
    let command = whole_command();
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

    #[test]
    fn every_command_has_a_page_of_its_own() {
        let pages = pages().unwrap();
        assert_eq!(pages.len(), 1 + commands().len());
        let page_of = |name: &str| pages.iter().find(|(page, _)| page == name).unwrap().1.clone();
        let whole = page_of("fsarena");
        assert!(
            whole.contains("fsarena\\-run\\fR(1)") && !whole.contains("fsarena\\-agent"),
            "{whole}"
        );
        let run = page_of("fsarena-run");
        for part in [".TH FSARENA-RUN 1", "\\-\\-budget", ".SH EXAMPLES", "fsarena\\fR(1)"] {
            assert!(run.contains(part), "{part}: {run}");
        }
        assert!(page_of("fsarena-study-claims").contains("fsarena study claims"));
    }

    #[test]
    fn pages_are_written_into_a_directory() {
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join("man1");
        write_pages(&directory).unwrap();
        assert!(directory.join("fsarena-run.1").is_file());
        let error = write_pages(&directory.join("fsarena-run.1")).unwrap_err().to_string();
        assert!(
            error.starts_with("cannot write ") && error.contains("another directory"),
            "{error}"
        );
    }
}
