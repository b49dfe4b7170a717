#!/usr/bin/env bash
# Makes a release: sets the version, dates the changelog, saves samples of all formats, tests, commits, packs and tags.
#
#   scripts/release.sh VERSION
#
# Needs a clean work tree and root, and takes an hour. Pushes nothing: `git push --follow-tags` publishes it.
set -euo pipefail
version=${1:?usage: $0 VERSION}
cd "$(dirname "$0")/.."

fail() { echo "cannot release $version: $1" >&2; exit 1; }
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail 'a version has three numbers: 0.2.0'
[ -z "$(git status --porcelain)" ] || fail 'the work tree has changes; commit them'
! git rev-parse --quiet --verify "refs/tags/v$version" > /dev/null || fail 'it is tagged'
grep -qF "## Unreleased ($version)" CHANGELOG.md || fail "CHANGELOG.md has no section \"Unreleased ($version)\""
[ "$(wc -l < CHANGELOG.md)" -le 200 ] || fail 'CHANGELOG.md has more than 200 lines'

# A release that fails leaves the work tree as it was.
trap 'git reset --quiet --hard && git clean --quiet -fd crates/fsarena/tests/released' ERR
sed -i "s/^## Unreleased ($version)/## $version ($(date --utc +%F))/" CHANGELOG.md
sed -i "0,/^version = .*/s//version = \"$version\"/" Cargo.toml
cargo update --quiet --workspace --offline
make build
scripts/install-packages.sh sqlite3
rm -rf "crates/fsarena/tests/released/$version"
scripts/save-formats.sh target/x86_64-unknown-linux-gnu/release/fsarena "crates/fsarena/tests/released/$version"
make test
git add --all
git commit --quiet -m "release: make version $version"
# Packages have the date of the commit.
make check-dist
git tag --annotate "v$version" -m "fsarena $version"
