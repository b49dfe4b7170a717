#!/usr/bin/env bash
# Makes a release: sets the version, dates the changelog, saves samples of all formats, tests, packs, commits and tags.
#
#   scripts/release.sh VERSION
#
# Works in a separate work tree, so a release that fails changes nothing here, and edits meanwhile are not released. Needs
# root, and takes an hour. Pushes nothing: `git push --follow-tags` publishes the release.
set -euo pipefail
version=${1:?usage: $0 VERSION}
cd "$(dirname "$0")/.."
here=$PWD

fail() { echo "cannot release $version: $1" >&2; exit 1; }
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail 'a version has three numbers: 0.2.0'
# An assignment ends the script if git fails.
changes=$(git status --porcelain)
[ -z "$changes" ] || fail 'the work tree has changes; commit them'
tags=$(git tag --list "v$version")
[ -z "$tags" ] || fail 'it is tagged'
grep -qF "## Unreleased ($version)" CHANGELOG.md || fail "CHANGELOG.md has no section \"Unreleased ($version)\""
[ "$(wc -l < CHANGELOG.md)" -le 200 ] || fail 'CHANGELOG.md has more than 200 lines'

place=$(mktemp -d /var/tmp/release-XXXXXX)
trap 'git -C "$here" worktree remove --force "$place/fsarena"; rm -rf "$place"' EXIT
git worktree add --quiet --detach "$place/fsarena"
cd "$place/fsarena"

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
commit=$(git rev-parse HEAD)
# Packages have the date of the commit.
make check-dist
rm -rf "$here/target/dist"
mkdir -p "$here/target"
cp -r target/dist "$here/target"

cd "$here"
git merge --quiet --ff-only "$commit"
git tag --annotate "v$version" -m "fsarena $version" "$commit"
