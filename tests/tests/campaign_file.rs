//! A campaign file names variants of a filesystem; what is wrong in one is told with its place.

use std::fs;
use std::path::PathBuf;

use end_to_end::{Sandbox, cells_of, run};
use model::{Bytes, CellResult, Status};

const VARIANTS: &str = r#"
name = "journals"
contenders = [
  "ext4",
  { name = "ext4-journal", filesystem = "ext4", mount_options = ["data=journal"] },
  { name = "ext4-none", filesystem = "ext4", mkfs_options = ["-O", "^has_journal"] },
]
suites = ["trial"]
profile = "smoke"
rounds = 2
seed = 5
size = "64 MiB"
"#;

fn write(sandbox: &Sandbox, text: &str) -> PathBuf {
    let file = sandbox.path("campaign.toml");
    fs::write(&file, text).unwrap();
    file
}

/// What the kernel said when it mounted the cell's device.
fn mode(cell: &CellResult) -> String {
    let mkfs = cell.steps.iter().find(|s| s.step == "mkfs").unwrap();
    let device = mkfs
        .command
        .iter()
        .find_map(|word| word.strip_prefix("/dev/"));
    let mounted = format!(
        "EXT4-fs ({}): mounted",
        device.expect("mkfs is given the device")
    );
    let said = cell
        .kernel_log
        .iter()
        .filter(|line| line.contains(&mounted));
    said.cloned().collect()
}

#[test]
fn variants_of_one_filesystem_compete_under_their_own_names() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.fsarena();
    command
        .arg("run")
        .arg(write(&sandbox, VARIANTS))
        .arg("--work-dir");
    let ended = run(command.arg(sandbox.path("work"))).with(0);
    let results = sandbox.results();
    let campaign = &results.campaign;
    assert_eq!((campaign.name.as_str(), campaign.rounds), ("journals", 2));
    assert_eq!((campaign.seed, campaign.size), (5, Bytes::mib(64)));
    for (name, word) in [
        ("ext4", "ordered data mode"),
        ("ext4-journal", "journalled data mode"),
        ("ext4-none", "without journal"),
    ] {
        let cells = cells_of(&results, name);
        assert_eq!(cells.len(), 2, "{name}");
        for cell in cells {
            assert_eq!(cell.status, Status::Ok, "{name}: {:?}", cell.failure);
            assert!(mode(cell).contains(word), "{name}: {}", mode(cell));
        }
        assert!(ended.stdout.contains(name), "{name}: {}", ended.stdout);
    }
    sandbox.assert_clean();
}

/// What is wrong, in which line, and what the one line on standard error says of it.
const WRONG: [(&str, usize, &[&str]); 10] = [
    (
        "contenders = [\"ext4\"]\nround = 3",
        2,
        &["`round`", "expected", "rounds"],
    ),
    (
        "contenders = [\"ext4\"]\nrounds = 0",
        2,
        &["`rounds`", "expected", "1"],
    ),
    (
        "contenders = [\"ext4\"]\nrounds = \"three\"",
        2,
        &["`rounds`", "expected"],
    ),
    (
        "contenders = [\"ext4\"]\n\nsize = \"1 potato\"",
        3,
        &["`size`", "expected"],
    ),
    (
        "contenders = [\n  \"ext4\",\n  \"ext5\",\n]",
        3,
        &["`ext5`", "`ext4`"],
    ),
    (
        "contenders = [\"ext4\"]\nprofile = \"huge\"",
        2,
        &["`huge`", "expected", "smoke"],
    ),
    (
        "contenders = [\"ext4\"]\nsuites = [\"bonny\"]",
        2,
        &["`bonny`", "`bonnie`"],
    ),
    (
        "contenders = [\"ext4\"]\nbackend = \"dir\"",
        2,
        &["`dir`", "expected"],
    ),
    ("rounds = 3", 1, &["`contenders`"]),
    ("contenders = [\"ext4\"\nrounds = 3", 2, &["expected"]),
];

#[test]
fn what_is_wrong_is_told_in_one_line_with_its_place() {
    let sandbox = Sandbox::new();
    for (text, line, words) in WRONG {
        let file = write(&sandbox, text);
        let ended = run(sandbox.fsarena().arg("run").arg(&file)).with(2);
        let said = ended.stderr.trim_end();
        assert_eq!(said.lines().count(), 1, "{text}:\n{said}");
        let place = format!("{}:{line}: ", file.display());
        assert!(said.contains(&place), "{place}: {said}");
        for word in words {
            assert!(said.contains(word), "{text}:\n{said}\nwithout {word}");
        }
        assert_eq!(ended.stdout, "", "{text}");
    }
    assert!(!sandbox.path("fsarena.db").exists(), "nothing was stored");
}
