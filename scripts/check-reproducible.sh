#!/bin/sh
# Builds the committed sources in two directories and compares the programs. Takes twice the time of a release build.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d -p "${TMPDIR:-/var/tmp}")
trap 'rm -rf "$work"' EXIT
for name in first another/directory; do
  git clone --quiet "$here" "$work/$name"
  "$work/$name/scripts/build-reproducibly.sh"
  cp "$work/$name/target/reproducible/x86_64-unknown-linux-gnu/release/fsarena" "$work/$(basename "$name").bin"
  rm -rf "${work:?}/$name/target"
done
sha256sum "$work"/*.bin
cmp "$work/first.bin" "$work/directory.bin"
echo "equal"
