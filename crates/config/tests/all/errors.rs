//! Error messages for invalid files: one line with file, line and the expected value.

use std::fmt::Write as _;

use config::Catalog;
use config::settings::campaign_file;

/// Compares error messages with the recorded lines. The texts are in this file.
macro_rules! assert_told {
    ($told:expr) => {
        insta::with_settings!({omit_expression => true}, { insta::assert_snapshot!($told) })
    };
}

/// Returns the error of each text, one per line.
fn told(texts: &[&str], error: impl Fn(&str) -> String) -> String {
    texts.iter().fold(String::new(), |mut all, text| {
        let error = error(text);
        assert_eq!(error.lines().count(), 1, "{error}");
        let _ = writeln!(all, "{error}");
        all
    })
}

/// Returns the error of an overlay whose only file contains `text`.
fn in_overlay(directory: &str, text: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join(directory)).unwrap();
    std::fs::write(dir.path().join(directory).join("mine.toml"), text).unwrap();
    let error = Catalog::builtin().unwrap().overlay(dir.path());
    let error = error.expect_err(text).to_string();
    error.replace(&format!("{}/", dir.path().display()), "")
}

#[test]
fn deep_values_are_refused_in_plain_words() {
    let catalog = Catalog::builtin().unwrap();
    for text in [
        format!("a = {}", "[".repeat(100_000)),
        format!("a = {}", "{a=".repeat(50_000)),
        format!("a{} = 1", ".a".repeat(50_000)),
    ] {
        let error = campaign_file::parse(&text, "deep.toml", &catalog).unwrap_err().to_string();
        let told = "deep.toml:1: its tables and lists are nested too deeply; remove a level";
        assert_eq!(error, told);
    }
}

#[test]
fn campaign_files() {
    let catalog = Catalog::builtin().unwrap();
    let error = |text: &str| {
        campaign_file::parse(text, "campaign.toml", &catalog).expect_err(text).to_string()
    };
    assert_told!(told(
        &[
            "",
            "contenders = []",
            "contenders = [\"ext4\"]\n\nroudns = 3",
            "contenders = [\"ext4\"]\nprofile = \"huge\"",
            "contenders = [\"ext4\"]\nprofile = 3",
            "contenders = [\"ext4\"]\nprofile = \"quik\"",
            "contender = [\"ext4\"]",
            "directories = []",
            "contenders = [\"ext4\"]\nsuites = []",
            "contenders = [\"ext4\"]\nsuites = [\"fio:a.fio\", \"bony\"]",
            "contenders = [\"ext4\"]\nbudget = 10",
            "contenders = [\"ext4\"]\nbudget = \"0s\"",
            "contenders = [\"ext4\"]\nbudget = \"500 days\"",
            "contenders = [\"ext4\"]\nuntil_width = 0.05",
            "contenders = [\"ext4\"]\nage = { profile = \"agrawal\", fill = 80 }",
            "contenders = \"ext4\"",
            "contenders = [\n  \"ext4\",\n  \"etx4\",\n]",
            "contenders = [\"ext4:dev\"]",
            "contenders = [\"ext4:\"]",
            "contenders = [\"ext4\", \"ext4\"]",
            "contenders = [7]",
            "contenders = [\n  { name = \"a b\", filesystem = \"ext4\" },\n]",
            "contenders = [{ name = \"a\", filesystem = \"ext4\", mount = [] }]",
            "contenders = [{ name = \"a\", filesystem = \"ext4\", mkfs_options = [\"/dev/sda\"] }]",
            "contenders = [{ name = \"a\", filesystem = \"tmpfs\", mkfs_options = [\"-x\"] }]",
            "contenders = [{ name = \"a\" }]",
            "contenders = [\"ext4\"]\nsuites = [\"lifecycle\", \"bony\"]",
            "contenders = [\"ext4\"]\nsuites = [\"tree\", \"tree\"]",
            "contenders = [\"ext4\"]\nrounds = 0",
            "contenders = [\"ext4\"]\nrounds = \"three\"",
            "contenders = [\"ext4\"]\nuntil_width = 5",
            "contenders = [\"ext4\"]\nuntil_width = \"120%\"",
            "contenders = [\"ext4\"]\nmax_rounds = 9",
            "contenders = [\"ext4\"]\nuntil_width = \"5%\"\nmax_time = \"soon\"",
            "contenders = [\"ext4\"]\nseed = -1",
            "contenders = [\"ext4\"]\nsize = \"2 gigs\"",
            "contenders = [\"ext4\"]\nmemory = 0",
            "contenders = [\"ext4\"]\nbackend = \"cloud\"",
            "contenders = [\"ext4\"]\nbackend = \"loop\"\nclock = \"virtual\"",
            "contenders = [\"ext4\"]\nbackend = \"vm\"\nclock = \"stopped\"",
            "contenders = [\"ext4\"]\nbackend = \"vm\"\ndisk = \"nvmee\"",
            "contenders = [\"ext4\"]\nbackend = \"vm\"\ndisks = 9",
            "contenders = [\"ext4\"]\nbackend = \"dir\"",
            "contenders = [\"ext4\"]\ndirectories = [\"/mnt\"]",
            "directories = [\"/mnt\"]\nbackend = \"loop\"",
            "directories = [\"/mnt\"]\ndevice = \"/dev/sdz\"",
            "directories = [{ name = \"a\" }]",
            "contenders = [\"ext4\"]\ngroups = [\"a\"]",
            "contenders = [\"ext4\"]\n[groups]\n\"A b\" = [\"ext4\"]",
            "contenders = [\"ext4\"]\n[groups]\na = []",
            "contenders = [\"ext4\"]\n[groups]\na = \"ext4\"",
            "contenders = [\"ext4\"\nrounds = 3",
            "contenders = [\"ext4\"]\nrounds = 3\nrounds = 4",
            "contenders = [\"ext4\"]\nname = \"unfinished",
        ],
        error
    ));
}

const FILESYSTEM: &str = r#"name = "mine"
title = "Mine"
driver = "kernel"
origin = { system = "Mine", year = 1999, source = "made for a test" }
read_by = [{ system = "linux", writes = true, source = "made for a test" }]
booted_by = [{ name = "Mine", source = "made for a test" }]
largest_file = { size = "1 EiB", source = "made for a test" }
source = "made for a test"

[requires]
programs = ["mkfs.mine"]
smallest = "1 MiB"

[commands]
mkfs = "mkfs.mine {options} {device}"
mount = "mount -o {options} {device} {mountpoint}"
"#;

#[test]
fn filesystem_files() {
    let changed = |from: &str, to: &str| {
        assert!(FILESYSTEM.contains(from), "{from}");
        FILESYSTEM.replacen(from, to, 1)
    };
    let texts = [
        changed("name = \"mine\"\n", ""),
        changed("name = \"mine\"", "name = \"../mine\""),
        changed("driver = ", "class = \"native\"\ndriver = "),
        changed("driver = ", "baseline = true\ndriver = "),
        changed("year = 1999", "year = \"1999\""),
        changed("system = \"linux\"", "system = \"plan9\""),
        changed("writes = true, ", ""),
        changed("1 EiB\", source = \"made for a test\"", "1 EiB\""),
        changed("{ name = \"Mine\", source", "{ name = \"Mine\", where"),
        changed("driver = \"kernel\"", "driver = [\"kernel\"]"),
        changed("\nsource = \"made for a test\"", "\nsource = \"  \""),
        changed("smallest", "smalest"),
        changed("smallest = \"1 MiB\"", ""),
        changed("smallest = \"1 MiB\"", "smallest = \"2 MiB\"\nlargest = \"1 MiB\""),
        changed("[requires]\nprograms = [\"mkfs.mine\"]\nsmallest = \"1 MiB\"", ""),
        changed("[\"mkfs.mine\"]", "[\"mkfs.other\"]"),
        changed("mkfs = \"mkfs.mine {options} {device}\"\n", ""),
        changed("{options} {device}\"\nmount", "{opts} {device}\"\nmount"),
        changed("{options} {device} {mountpoint}", "{device} {mountpoint}"),
        changed("\"mount -o {options} {device} {mountpoint}\"", "\"\""),
        changed("\"mount -o {options} {device} {mountpoint}\"", "7"),
        changed(
            "\"mount -o {options} {device} {mountpoint}\"",
            "[\"sh\", \"-c\", \"mount {device} {mountpoint}\"]",
        ),
        format!("{FILESYSTEM}mount_options = [\"rw\", \"suid\"]\n"),
        format!("{FILESYSTEM}fsck_clean = [256]\n"),
        format!("{FILESYSTEM}fsck = \"fsck.mine {{device}}\"\n"),
        changed("[commands]", "[commands"),
    ];
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    assert_told!(told(&texts, |text| in_overlay("filesystems", text)));
}

const SUITE: &str = r#"name = "mine"
title = "Mine"
source = "made for a test"

[[test]]
name = "mine"
title = "Mine"
rationale = "To see what is said."
space = "$size"

[test.parameters]
size = { smoke = "1 MiB", quick = "2 MiB", standard = "3 MiB", study = "4 MiB" }

[[test.phase]]
name = "write"
op = "write"
file = "f"
size = "$size"
block = "4 KiB"
cache = "warm"
ends = "fsync"

[[test.phase]]
name = "read"
op = "read"
file = "f"
block = "4 KiB"
cache = "cold"
ends = "call"
"#;

fn phase(lines: &str) -> String {
    format!("{SUITE}\n[[test.phase]]\nname = \"added\"\n{lines}\n")
}

#[test]
fn suite_files() {
    let changed = |from: &str, to: &str| {
        assert!(SUITE.contains(from), "{from}");
        SUITE.replacen(from, to, 1)
    };
    let texts = [
        changed("op = \"read\"", "op = \"raed\""),
        changed("file = \"f\"\nblock", "fiel = \"f\"\nblock"),
        changed("file = \"f\"\nblock", "block"),
        changed("file = \"f\"\nblock", "file = \"g\"\nblock"),
        changed("cache = \"cold\"\n", ""),
        changed("cache = \"cold\"", "cache = \"chilly\""),
        phase("op = \"remove-file\"\nfile = \"f\"\ncache = \"warm\"\nends = \"fsync\""),
        changed("block = \"4 KiB\"", "block = \"8 MiB\""),
        changed("block = \"4 KiB\"", "block = 0"),
        changed("space = \"$size\"", "space = \"1 KiB\""),
        changed("size = \"$size\"\nblock", "size = \"$siez\"\nblock"),
        changed(", study = \"4 MiB\"", ""),
        changed("quick =", "quik ="),
        changed("quick = \"2 MiB\"", "quick = \"two\""),
        changed("[test.parameters]", "[test.parameters]\nfiles = 7"),
        changed("name = \"read\"", "name = \"write\""),
        changed("rationale = \"To see what is said.\"\n", ""),
        changed("[[test]]", "[test]"),
        changed(
            "[[test.phase]]",
            "[[test.phase]]\nname = \"make\"\nop = \"mkfs\"\n\n[[test.phase]]",
        ),
        phase("op = \"mkfs\""),
        phase("op = \"fsck\""),
        phase("op = \"unmount\"\ncache = \"cold\""),
        phase("op = \"remove-tree\"\ntree = \"f\"\ncache = \"warm\"\nends = \"call\""),
        phase("op = \"remove-file\"\nfile = \"f\"\ncache = \"direct\"\nends = \"call\""),
        phase(
            "op = \"remove-file\"\nfile = \"f\"\ncache = \"warm\"\nends = \"call\"\nat_most = \"soon\"",
        ),
        changed("ends = \"fsync\"", "ends = \"fsync\"\nat_most = \"1 s\""),
        phase(
            "op = \"read\"\nfile = \"f\"\nblock = 1\nthreads = 2\ninclude_open_close = true\n\
             cache = \"warm\"\nends = \"call\"",
        ),
        phase("op = \"write-chars\"\nfile = \"f\"\nsize = 1\ncache = \"warm\"\nends = \"call\""),
        phase("op = \"probe\"\nfeature = \"wings\""),
        phase(
            "op = \"seek\"\nfile = \"f\"\nblock = 1\noperations = 9\nthreads = 0\nwrite_share = 0.5\n\
             cache = \"warm\"\nends = \"call\"",
        ),
        phase(
            "op = \"plant-tree\"\ntree = \"t\"\nfiles = 10\ndirectories = 2\nbytes = 1000\nsmallest = 1\n\
             largest = 10\ncache = \"warm\"\nends = \"call\"",
        ),
        SUITE.replace("[[test", "[[tset"),
    ];
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    assert_told!(told(&texts, |text| in_overlay("suites", text)));
}

const SWEEP: &str = r#"name = "mine"
title = "Mine"
source = "made for a test"

[[test]]
name = "mine"
title = "Mine"
rationale = "To see what is said."
space = "$size"

[test.sweep]
size = { from = "64 KiB", to = "1 MiB", times = 4 }
block = ["8 KiB", "64 KiB"]

[[test.phase]]
name = "write"
op = "write"
file = "f"
size = "$size"
block = "$block"
cache = "warm"
ends = "call"
"#;

#[test]
fn sweeps() {
    let range = "{ from = \"64 KiB\", to = \"1 MiB\", times = 4 }";
    let changed = |from: &str, to: &str| {
        assert!(SWEEP.contains(from), "{from}");
        SWEEP.replacen(from, to, 1)
    };
    let texts = [
        changed("times = 4", "times = 3"),
        changed("times = 4", "times = 1"),
        changed(", times = 4", ""),
        changed(", times = 4", ", step = 4"),
        changed(range, "{ smoke = [\"1 MiB\"] }"),
        changed(range, "\"1 MiB\""),
        changed(range, "[]"),
        changed(range, "[\"1 MiB\", \"64 KiB\"]"),
        changed(range, "[\"1 MiB\", \"1024 KiB\"]"),
        changed(range, "[\"1 MiB\", true]"),
        changed(range, "[\"1 KiB\"]"),
        changed("block =", "blok ="),
        changed("block = [\"8 KiB\", \"64 KiB\"]\n", ""),
        changed("block = [", "threads = [0, 1]\nblock = ["),
        changed("block = [", "threads = [1, 2]\nblock = ["),
        changed("[test.sweep]", "[test.parameters]\nsize = \"1 MiB\"\n\n[test.sweep]"),
        changed(
            "times = 4",
            "times = 2 }\nfiles = { from = 1, to = 1024, times = 2 }\nrate = { from = 1, to = 1024, times = 2",
        ),
        changed("size = \"$size\"\nblock", "size = \"$size / 0\"\nblock"),
        changed("size = \"$size\"\nblock", "size = \"$size * half\"\nblock"),
        changed("size = \"$size\"\nblock", "size = \"2 * $size\"\nblock"),
        changed("ends = \"call\"", "ends = \"call\"\nrepeat = 3"),
        changed(
            "size = { from = \"64 KiB\", to = \"1 MiB\", times = 4 }\nblock = [\"8 KiB\", \"64 KiB\"]",
            "",
        ),
        format!("{SWEEP}\n[[test.phase]]\nname = \"unmount\"\nop = \"unmount\"\nrepeat = false\n"),
        SWEEP.replace(
            "name = \"mine\"\ntitle = \"Mine\"\nrat",
            "name = \"bonnie-block\"\ntitle = \"Mine\"\nrat",
        ),
    ];
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    assert_told!(told(&texts, |text| in_overlay("suites", text)));
}

#[test]
fn missing_campaign_file_is_an_error() {
    let path = std::path::Path::new("/nonexistent/campaign.toml");
    let error = config::read_text(path).unwrap_err().to_string();
    assert_eq!(
        error,
        "cannot read /nonexistent/campaign.toml: No such file or directory (os error 2)"
    );
}
