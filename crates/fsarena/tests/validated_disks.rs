//! What the documentation says of simulated disks is what the program says.

use std::process::Command;

#[test]
fn the_table_of_the_documentation_is_that_of_the_command() {
    let output = Command::new(env!("CARGO_BIN_EXE_fsarena"))
        .args(["validate", "--markdown"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let table = String::from_utf8(output.stdout).unwrap();
    let page = include_str!("../../../docs/disks.md");
    assert!(
        page.contains(&table),
        "write this into docs/disks.md:\n{table}"
    );
    for row in table.lines().skip(2) {
        let ratio: f64 = row
            .trim_end_matches(" |")
            .rsplit(' ')
            .next()
            .unwrap()
            .parse()
            .unwrap();
        assert!(
            (0.4..2.6).contains(&ratio),
            "far from what is published: {row}"
        );
    }
}
