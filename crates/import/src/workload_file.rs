//! A workload of filebench, as it is run in the directory that is measured.
//!
//! Source of the format: `parser_lex.l`, `parser_gram.y` and the workloads of filebench 1.5-alpha3, its last version.

use crate::ImportError;
use crate::text::lines;

/// Operations that filebench counts in its summary; what synchronises or paces threads is none.
const COUNTED: [&str; 18] = [
    "aiowait",
    "aiowrite",
    "appendfile",
    "appendfilerand",
    "closefile",
    "createfile",
    "deletefile",
    "fsync",
    "fsyncset",
    "listdir",
    "makedir",
    "openfile",
    "read",
    "readwholefile",
    "removedir",
    "statfile",
    "write",
    "writewholefile",
];

/// Words that run another program, or wait for other machines.
const REFUSED: [&str; 3] = ["system", "domultisync", "multi"];

/// A workload without its comments and what it echoes, with `$dir` being the current directory.
///
/// # Errors
/// When it runs other programs, or names another place than the filesystem in which it is to run.
pub fn filebench_workload(file: &[u8]) -> Result<String, ImportError> {
    let mut workload = String::new();
    for (number, line) in lines(file)? {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') || is_echo(line) {
            continue;
        }
        let is_directory = line.starts_with("set ") && line[4..].trim_start().starts_with("$dir=");
        let line = if is_directory { "set $dir=\".\"" } else { line };
        stays(line).map_err(|what| ImportError::at(number, what))?;
        workload.push_str(line);
        workload.push('\n');
    }
    let is_run = |line: &str| matches!(line.split_whitespace().next(), Some("run" | "psrun"));
    match workload.lines().any(is_run) {
        true => Ok(workload),
        false => Err(ImportError::whole(
            "it is no workload of filebench that ends by itself: it has no line such as `run 60`",
        )),
    }
}

/// One text in quotes and nothing behind it.
fn is_echo(line: &str) -> bool {
    let text = line.strip_prefix("echo").map(str::trim);
    let text = text.and_then(|text| text.strip_prefix('"')?.strip_suffix('"'));
    text.is_some_and(|text| !text.contains('"'))
}

/// Whether a line stays in the filesystem that is measured.
fn stays(line: &str) -> Result<(), String> {
    let mut words = line.split(|c: char| !c.is_ascii_alphanumeric());
    if let Some(word) = words.find(|word| REFUSED.contains(word)) {
        return Err(format!(
            "`{word}` is not taken: workloads run alone, and start no other program"
        ));
    }
    // `$(…)` and `${…}` are what only the program knows.
    if ["/", "..", "$(", "${"].iter().any(|out| line.contains(out)) {
        return Err(
            "it names a place: only `set $dir=` may, which becomes the directory that is measured"
                .to_owned(),
        );
    }
    Ok(())
}

/// The operations that the summary will have, in the order of the workload: `flowop read name=read1, …`.
pub fn operations(workload: &str) -> Vec<&str> {
    let mut operations = Vec::new();
    for line in workload.lines() {
        let Some(rest) = line.strip_prefix("flowop ") else {
            continue;
        };
        let (kind, attributes) = rest.trim_start().split_once(' ').unwrap_or((rest, ""));
        let name = attributes
            .split(',')
            .find_map(|one| one.trim().strip_prefix("name="));
        if let Some(name) = name.filter(|_| COUNTED.contains(&kind))
            && !operations.contains(&name)
        {
            operations.push(name);
        }
    }
    operations
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKLOAD: &str = r#"
# A comment: /tmp
set $dir=/tmp
set $n=10
define fileset name=files,path=$dir,size=4k,entries=$n,prealloc
define process name=p,instances=1
{
  thread name=t,memsize=1m
  {
    flowop openfile name=open1,filesetname=files,fd=1
    flowop read name=read1, fd=1
    flowop eventlimit name=limit
    flowop read name=read1, fd=1
  }
}
echo "Reading in /tmp: system is loaded"
run 5
"#;

    #[test]
    fn a_workload_runs_where_it_is_measured() {
        let workload = filebench_workload(WORKLOAD.as_bytes()).unwrap();
        assert!(workload.starts_with("set $dir=\".\"\nset $n=10\n"));
        assert!(workload.ends_with("}\nrun 5\n"));
        assert_eq!(operations(&workload), ["open1", "read1"]);
    }

    #[test]
    fn other_places_and_programs_are_refused_by_line() {
        for (file, line) in [
            ("set $d=/etc\nrun 5\n", Some(1)),
            ("run 5\ndefine fileset name=a,path=\"..\"\n", Some(2)),
            ("run 5\nset $a=$(HOME)\n", Some(2)),
            ("run 5 system \"touch x\"\n", Some(1)),
            ("echo \"a\" system \"touch x\"\nrun 5\n", Some(1)),
            ("enable multi\nrun 5\n", Some(1)),
            ("set $dir=/tmp\n", None),
        ] {
            let error = filebench_workload(file.as_bytes()).unwrap_err();
            assert_eq!(error.line, line, "{file}: {error}");
        }
    }
}
