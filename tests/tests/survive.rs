//! Power cuts of a mounted image. `cp --reflink` copies the image in one moment, as a power cut
//! leaves it: the journal is not empty, and writes that had not begun are missing.

use std::process::Command;

use end_to_end::{CommandOutput, Sandbox, program, run};

/// Writes on ext4 in an image on XFS, copies the image while it is written, and checks the copy by
/// the log up to that moment. Then removes a synced file from the copy, and checks again. Arguments:
/// program, directory.
const SCRIPT: &str = r#"
set -eu
fsarena=$1
cd "$2"
mkdir outer inner cut
truncate -s 400M outer.img
mkfs.xfs -q outer.img
mount -o loop outer.img outer
truncate -s 64M outer/inner.img
mkfs.ext4 -q outer/inner.img
mount -o loop outer/inner.img inner
: > all.log
"$fsarena" survive write inner > all.log 2> messages &
writer=$!
trap 'kill $writer 2>/dev/null || true' EXIT
while [ "$(wc -l < all.log)" -lt 400 ]; do
  kill -0 $writer
  sleep 0.1
done
cp all.log cut.log
cp --reflink=always outer/inner.img outer/cut.img
kill -INT $writer
wait $writer || echo "writer: $?"
mount -o loop outer/cut.img cut
"$fsarena" survive check cut cut.log && echo "whole: 0"
rm cut/fsarena-power-cut-*/*-create-fsync/d/second
"$fsarena" survive check cut < cut.log || echo "damaged: $?"
"$fsarena" survive check cut cut.log --json || echo "as JSON: $?"
"$fsarena" survive check outer cut.log || echo "elsewhere: $?"
"$fsarena" survive write inner > inner/log || echo "same: $?"
"$fsarena" survive write inner --for 1s > again.log
"$fsarena" survive check inner again.log && echo "again: 0"
umount cut inner outer
"#;

fn in_private_mounts(sandbox: &Sandbox) -> CommandOutput {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", SCRIPT, "sh"]);
    run(command.arg(program::fsarena()).arg(sandbox.path("")))
}

#[test]
fn synced_files_survive_the_copy_of_a_moment_and_a_removed_one_is_found() {
    let sandbox = Sandbox::new();
    let output = in_private_mounts(&sandbox).assert_code(0);
    let screen = &output.stdout;
    for text in [
        "Nothing is lost of ",
        "whole: 0",
        ", create-fsync, after `fsync d`: d/second is missing",
        "damaged: 1",
        "\"lost\": \"d/second is missing\"",
        "as JSON: 1",
        "elsewhere: 3",
        "same: 2",
        "again: 0",
    ] {
        assert!(screen.contains(text), "{text}: {screen}\n{}", output.stderr);
    }
    assert!(output.stderr.contains("mount the filesystem of this log"), "{}", output.stderr);
    sandbox.assert_clean();
}
