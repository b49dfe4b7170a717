#!/usr/bin/env bash
# Writes a sample of each format that others build on, as crates/fsarena/tests/all/released_formats.rs reads them:
#
#   scripts/save-formats.sh FSARENA DIRECTORY
#
# A released version has one DIRECTORY, and its samples never change. Needs sqlite3; takes seconds.
set -euo pipefail

fsarena=$(realpath "${1:?usage: $0 FSARENA DIRECTORY}")
output=$(realpath -m "${2:?usage: $0 FSARENA DIRECTORY}")
sources=$(realpath "$(dirname "$0")/..")
place=$(mktemp -d /var/tmp/formats-XXXXXX)
trap 'rm -rf "$place"' EXIT
mkdir -p "$output" "$place/a"
cd "$place"

# The campaign file is a format, too. The name of this shell's cgroup does not get into the database.
cat > campaign.toml <<'EOF'
name = "released"
directories = ["a"]
suites = ["metadata/metadata-deep"]
profile = "smoke"
rounds = 1
seed = 8
EOF
unshare --cgroup "$fsarena" --quiet --db released.db run campaign.toml > /dev/null
cp campaign.toml "$output"
for format in json csv; do
  "$fsarena" --db released.db report --format "$format" -o "$output/report.$format"
done
# The two pragmas are in the file's header, which .dump omits.
{
  for pragma in application_id user_version; do
    sqlite3 released.db "SELECT 'PRAGMA $pragma = ' || $pragma || ';' FROM pragma_$pragma"
  done
  sqlite3 released.db .dump
} > "$output/database.sql"

# A trace is binary; this is its text.
"$fsarena" trace import "$sources/crates/trace/tests/samples/strace-relative-threads.txt" \
  --below /srv/d -o sample.trace 2> /dev/null
base64 sample.trace > "$output/trace.base64"
"$fsarena" --json trace show sample.trace > "$output/trace.json"

# The three longest files of each kind in the catalog, except studies, which are directories.
for kind in "$sources"/catalog/*/; do
  kind=$(basename "$kind")
  [ "$kind" != studies ] || continue
  mkdir -p "$output/catalog/$kind"
  find "$sources/catalog/$kind" -maxdepth 1 -name '*.toml' -printf '%s %p\n' | sort -n | tail -3 | cut -d ' ' -f 2 |
    xargs -d '\n' cp -t "$output/catalog/$kind"
done
