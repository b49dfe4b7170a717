//! The campaigns in the documentation are accepted as printed, and the commands of
//! `docs/questions.md` run and print the lines that it shows.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use end_to_end::{CommandOutput, Sandbox, TestLoopDevice, guest, program, run};

/// Parts of commands that need another machine, a device, a guest, the user's files, or programs that
/// this machine may lack.
const NEEDS: [&str; 18] = [
    "--host",
    "--on ",
    "--device",
    "--dir ",
    "--source",
    "--cache",
    "vm",
    "--machine",
    "-s fio:",
    "bonnie++:",
    "filebench:",
    "-s postgresql",
    "-s rocksdb",
    "iozone:",
    "my-campaign",
    "traces",
    "…",
    "NAME",
];

/// Returns the options of every `fsarena run` with options in Markdown.
fn campaigns(text: &str) -> Vec<String> {
    let parts = text.lines().flat_map(|line| line.split('`'));
    let options = parts.filter_map(|part| {
        let command = part.strip_prefix("$ ").unwrap_or(part);
        let command = command.strip_prefix("sudo ").unwrap_or(command);
        let options = command.strip_prefix("fsarena run ")?;
        let options = options.split(" && ").next()?.split(" #").next()?;
        Some(options.replace("--dry-run", "").trim().to_owned())
    });
    options.collect()
}

#[test]
fn every_documented_campaign_is_accepted() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let documents = fs::read_dir(top.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let documents = documents.chain([top.join("README.md")]);
    let documents = documents.filter(|path| path.extension().is_some_and(|end| end == "md"));
    let texts = documents.map(|path| fs::read_to_string(path).unwrap());
    let mut all: Vec<String> = texts.flat_map(|text| campaigns(&text)).collect();
    all.retain(|options| !options.is_empty() && !NEEDS.iter().any(|part| options.contains(part)));
    all.sort();
    all.dedup();
    assert!(all.len() > 15, "{all:?}");
    let sandbox = Sandbox::new();
    let program = sandbox.fsarena();
    for options in all {
        let mut shell = Command::new("sh");
        // The shell splits the options as the user's does.
        shell.args(["-c", &format!("exec \"$0\" run --dry-run {options}")]);
        shell.arg(program.get_program()).env("XDG_DATA_HOME", sandbox.path("data"));
        let ended = run(&mut shell);
        // A plan above the usual limit of writes is shown, too.
        assert!(matches!(ended.code, Some(0 | 3)), "{options}: {}", ended.stderr);
        assert!(ended.stdout.contains("  in all "), "{options}: {}", ended.stderr);
    }
}

/// Number of questions that `docs/questions.md` answers at least.
const QUESTIONS: usize = 30;

/// Options of campaigns that are removed, because [`SMALL`] is smaller.
const REMOVED: [&str; 3] = [" --budget 1h", " --profile study", " --rounds 5"];

/// Options that make each campaign as small as possible, and place its images.
const SMALL: &str = "--profile smoke --rounds 1 --work-dir work";

/// Parts of campaigns that are only planned: guests boot, gcc builds and ageing fills a disk for too
/// long. Other tests run them.
const PLANNED: [&str; 3] = ["--backend vm", "-s build", "--age"];

/// A question of `docs/questions.md`.
#[derive(Debug)]
struct DocumentedQuestion {
    title: String,
    /// Lines that begin with `$`, without it.
    commands: Vec<String>,
    /// Lines after the command, without those that begin with `…`.
    answer: Vec<String>,
    /// Paragraph after the answer.
    trust: String,
}

impl DocumentedQuestion {
    /// Returns true if the command takes too long for a test.
    fn is_planned(&self) -> bool {
        PLANNED.iter().any(|part| self.commands[0].contains(part))
    }

    /// Returns the command with small campaigns in the given directories and on the given device.
    fn small(&self, device: Option<&TestLoopDevice>) -> String {
        let path = device.map_or_else(String::new, |device| device.path().display().to_string());
        let mut command = self.commands[0].replace("sudo ", "").replace("/dev/sdX", &path);
        for option in REMOVED {
            command = command.replace(option, "");
        }
        let is_planned = self.is_planned();
        let parts = command.split(" && ").map(|part| match () {
            () if is_planned => format!("{part} {SMALL} --dry-run"),
            () if part.starts_with("fsarena run ") || part.contains(" trace replay ") => {
                format!("{part} {SMALL}")
            }
            () if part.contains(" tool calibrate") => format!("{part} --work-dir work"),
            () => part.to_owned(),
        });
        parts.collect::<Vec<_>>().join(" && ")
    }
}

/// Returns the questions of a document.
fn questions(text: &str) -> Vec<DocumentedQuestion> {
    let sections = text.split("\n## ").skip(1);
    let question = |section: &str| {
        let (title, rest) = section.split_once('\n').unwrap_or((section, ""));
        let mut parts = rest.splitn(3, "```");
        let (_, block) = (parts.next(), parts.next().unwrap_or_default());
        let (commands, answer): (Vec<&str>, _) = block
            .lines()
            .filter(|line| !line.trim().is_empty() && !line.starts_with('…'))
            .partition(|line| line.starts_with("$ "));
        DocumentedQuestion {
            title: title.to_owned(),
            commands: commands.iter().map(|line| line[2..].to_owned()).collect(),
            answer: answer.into_iter().map(str::to_owned).collect(),
            trust: parts.next().unwrap_or_default().trim().to_owned(),
        }
    };
    sections.map(question).collect()
}

/// Runs the command of a question in a new sandbox. Returns its output with the report.
fn answer(question: &DocumentedQuestion) -> (CommandOutput, String) {
    let sandbox = Sandbox::new();
    let real = sandbox.fsarena();
    let arguments = real.get_args().map(|word| word.to_string_lossy().into_owned());
    let script = format!(
        "#!/bin/sh\nexec {} {} \"$@\"\n",
        real.get_program().display(),
        arguments.collect::<Vec<_>>().join(" ")
    );
    let job = "#!/bin/sh\necho new > file && sync file && cat file\n".to_owned();
    fs::create_dir(sandbox.path("bin")).unwrap();
    for (name, text) in [("bin/fsarena", script), ("job.sh", job)] {
        fs::write(sandbox.path(name), text).unwrap();
        fs::set_permissions(sandbox.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let needs_device = question.commands[0].contains("/dev/sdX");
    let device = needs_device.then(|| TestLoopDevice::new(&sandbox.path("disk"), 512 << 20));
    let mut command = question.small(device.as_ref());
    // A mounted directory is one of the sandbox.
    for directory in ["/var/lib/etcd", "/srv/share", "/mnt/nfs", "/data"] {
        let own = sandbox.path(&format!("mounted{directory}"));
        if command.contains(&format!("--dir {directory}")) {
            fs::create_dir_all(&own).unwrap();
            let of_sandbox = format!("--dir {}", own.display());
            command = command.replace(&format!("--dir {directory}"), &of_sandbox);
        }
    }
    let path = format!("{}:{}", sandbox.path("bin").display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", &command]).env("PATH", path).env("XDG_DATA_HOME", sandbox.path("data"));
    shell.env("FSARENA_RUN_DIR", sandbox.root()).env("XDG_CACHE_HOME", program::cache());
    let ended = run(shell.current_dir(sandbox.root()));
    let report = run(sandbox.fsarena().arg("report")).stdout;
    (ended, report)
}

/// Returns the questions of `docs/questions.md`.
fn documented_questions() -> Vec<DocumentedQuestion> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/questions.md");
    questions(&fs::read_to_string(file).unwrap())
}

#[test]
fn thirty_questions_have_a_command_an_answer_and_its_trust() {
    let all = documented_questions();
    assert!(all.len() >= QUESTIONS, "{} questions", all.len());
    for question in &all {
        assert!(question.title.ends_with('?'), "{}", question.title);
        assert_eq!(question.commands.len(), 1, "commands of: {}", question.title);
        assert!((1..=6).contains(&question.answer.len()), "answer of: {}", question.title);
        assert!(question.trust.len() > 100, "trust of: {}", question.title);
    }
}

#[test]
fn each_command_of_a_question_runs_and_prints_the_lines_shown() {
    let all = documented_questions();
    if all.iter().any(|question| question.commands[0].contains("--backend vm")) {
        // A plan for guests needs one.
        guest();
    }
    let open = Mutex::new(all.iter());
    let wrong = Mutex::new(Vec::new());
    let work = || {
        loop {
            let Some(question) = open.lock().unwrap().next() else {
                return;
            };
            let (ended, report) = answer(question);
            if ended.code != Some(0) {
                wrong.lock().unwrap().push(format!("{}: {}", question.title, ended.stderr));
            }
            let is_planned = question.is_planned();
            let printed = format!("{}{report}", ended.stdout);
            // A line that begins far to the right has only the names of columns.
            let rows = question.answer.iter().filter(|line| !line.starts_with("          "));
            for line in rows.filter(|_| !is_planned) {
                let row = line.trim().split("  ").next().unwrap_or_default();
                let row = row.split(" …").next().unwrap_or_default();
                if !printed.lines().any(|line| line.trim().starts_with(row)) {
                    wrong.lock().unwrap().push(format!("{}: no line {row}", question.title));
                }
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn questions_are_found_with_their_parts_and_made_small() {
    let text = "# Questions\n\n## 1. Slow?\n\n```\n$ sudo fsarena run -s tree --budget 1h && \
                sudo fsarena advise\n  tree-in  1\n…\n```\n\nTrust.\n\n## 2. Cards?\n\n```\n\
                $ fsarena run --backend vm\n```\n";
    let found = questions(text);
    assert_eq!((found.len(), found[0].title.as_str()), (2, "1. Slow?"));
    assert_eq!((found[0].answer.len(), found[0].trust.as_str()), (1, "Trust."));
    assert_eq!(found[0].small(None), format!("fsarena run -s tree {SMALL} && fsarena advise"));
    assert_eq!(found[1].small(None), format!("fsarena run --backend vm {SMALL} --dry-run"));
    assert!(found[1].answer.is_empty());
}
