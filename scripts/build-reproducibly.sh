#!/bin/sh
# Builds the release program below target/reproducible, so that equal sources give equal bytes in every directory: paths
# of the sources and of cargo are replaced (https://doc.rust-lang.org/rustc/remap-source-paths.html).
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
cargo_home=${CARGO_HOME:-$HOME/.cargo}
separator=$(printf '\037')
CARGO_ENCODED_RUSTFLAGS="-Ctarget-feature=+crt-static${separator}--remap-path-prefix=$here=/fsarena"
CARGO_ENCODED_RUSTFLAGS="$CARGO_ENCODED_RUSTFLAGS${separator}--remap-path-prefix=$cargo_home=/cargo"
CFLAGS="${CFLAGS:-} -ffile-prefix-map=$here=/fsarena -ffile-prefix-map=$cargo_home=/cargo"
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$here" log -1 --format=%ct)}
export CARGO_ENCODED_RUSTFLAGS CFLAGS SOURCE_DATE_EPOCH
cd "$here"
cargo build --release --locked --target-dir target/reproducible
