#!/usr/bin/env bash
# Whether amitools, an implementation of AFFS that shares nothing with this one, takes the volumes that
# `fsarena tool format` makes: its checker finds nothing, files go in and come out, and it still finds nothing.
#
#   scripts/check-affs.sh target/x86_64-unknown-linux-gnu/release/fsarena
set -euo pipefail

fsarena=$(realpath "${1:?usage: $0 FSARENA}")
tools=$(realpath -m target/amitools)
version=0.8.1

if [ ! -x "$tools/bin/xdftool" ]; then
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet "amitools==$version"
fi

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
head -c 300000 /dev/urandom >original

fail() {
  echo "$*" >&2
  exit 1
}

# Says "ok" of a volume whose structure, checksums and bitmaps are right.
scan() {
  "$tools/bin/xdfscan" --verbose "$1" >scanned
  grep -q ' ok ' scanned || { cat scanned >&2; fail "$1: xdfscan complains"; }
}

check() {
  local image=$1 label=$2
  scan "$image"
  "$tools/bin/xdftool" "$image" list + info >listed
  grep -q "$label" listed || { cat listed >&2; fail "$image is not called $label"; }
  "$tools/bin/xdftool" "$image" makedir Directory + write original Directory/file >/dev/null
  "$tools/bin/xdftool" "$image" read Directory/file back >/dev/null
  cmp original back
  scan "$image"
}

# 880 KiB is a floppy; 60 MiB need more bitmap blocks than the root block can name.
count=0
for form in affs-ofs affs-ffs; do
  for international in "" --international; do
    for size in 880KiB 10MiB 60MiB; do
      image="$form$international-$size.hdf"
      # shellcheck disable=SC2086 # no word where there is no option
      "$fsarena" --quiet tool format "$form" $international --size "$size" --label Arena "$image"
      check "$image" Arena
      rm "$image"
      count=$((count + 1))
    done
  done
done
echo "amitools $version takes all $count volumes"
