#!/usr/bin/env bash
# Packs the release build into DIRECTORY: a tarball and a Debian package, each with manual pages and
# completions, and their checksums. Equal sources give equal bytes: https://reproducible-builds.org/docs/archives/
set -euo pipefail
binary=$1
directory=$2
here=$(cd "$(dirname "$0")/.." && pwd)

version=$("$binary" --version | cut -d ' ' -f 2)
# All files have the date of the last commit.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$here" log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
# Debian's tools take the packager from these variables, too: debchange(1).
maintainer="${DEBFULLNAME:-$(git -C "$here" log -1 --format=%an)} <${DEBEMAIL:-$(git -C "$here" log -1 --format=%ae)}>"
umask 022

rm -rf "$directory"
mkdir -p "$directory"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Files of the program: PROGRAM, MANUAL PAGES, COMPLETIONS.
program=$work/program
mkdir -p "$program/completions"
install -m 755 "$binary" "$program/fsarena"
strip "$program/fsarena"
"$binary" tool man --directory "$program/man"
for shell in bash zsh fish; do
  "$binary" tool completions "$shell" > "$program/completions/fsarena.$shell"
done

set_dates() { find "$1" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +; }

tarball() {
  local name=fsarena-$version-x86_64-linux
  local root=$work/$name
  cp -r "$program" "$root"
  cp "$here"/{README.md,CHANGELOG.md,SECURITY.md,LICENSE-APACHE,LICENSE-MIT} "$root"
  set_dates "$root"
  tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --format=gnu \
    -C "$work" -cf - "$name" | gzip -9 -n > "$directory/$name.tar.gz"
}

debian_package() {
  local root=$work/deb
  install -D -m 755 "$program/fsarena" "$root/usr/bin/fsarena"
  install -d "$root/usr/share/man/man1" "$root/usr/share/doc/fsarena" "$root/DEBIAN"
  local page
  for page in "$program"/man/*.1; do
    gzip -9 -n < "$page" > "$root/usr/share/man/man1/$(basename "$page").gz"
  done
  install -D -m 644 "$program/completions/fsarena.bash" "$root/usr/share/bash-completion/completions/fsarena"
  install -D -m 644 "$program/completions/fsarena.zsh" "$root/usr/share/zsh/vendor-completions/_fsarena"
  install -D -m 644 "$program/completions/fsarena.fish" "$root/usr/share/fish/vendor_completions.d/fsarena.fish"
  install -D -m 644 "$here/packaging/lintian-overrides" "$root/usr/share/lintian/overrides/fsarena"
  install -m 644 "$here/packaging/copyright" "$root/usr/share/doc/fsarena/copyright"
  gzip -9 -n < "$here/CHANGELOG.md" > "$root/usr/share/doc/fsarena/NEWS.gz"
  local date
  date=$(LC_ALL=C date --utc --date="@$SOURCE_DATE_EPOCH" '+%a, %d %b %Y %H:%M:%S +0000')
  printf 'fsarena (%s) unstable; urgency=medium\n\n  * See NEWS.gz.\n\n -- %s  %s\n' \
    "$version" "$maintainer" "$date" | gzip -9 -n > "$root/usr/share/doc/fsarena/changelog.gz"
  # Packages of the formatters and checkers, as the catalog names them.
  local suggests
  suggests=$("$binary" list filesystems --json | python3 -c '
import json, sys
packages = {p for f in json.load(sys.stdin) for p in f["requires"]["packages"]} - {"util-linux"}
print(", ".join(sorted(packages)))')
  local size
  size=$(du --apparent-size -sk "$root/usr" | cut -f 1)
  sed -e "s/@VERSION@/$version/" -e "s/@SIZE@/$size/" -e "s/@MAINTAINER@/$maintainer/" -e "s/@SUGGESTS@/$suggests/" \
    "$here/packaging/control" > "$root/DEBIAN/control"
  (cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) > "$root/DEBIAN/md5sums"
  chmod 644 "$root/DEBIAN/md5sums"
  set_dates "$root"
  dpkg-deb --root-owner-group -Zxz --build "$root" "$directory/fsarena_${version}_amd64.deb" > /dev/null
}

tarball
debian_package
(cd "$directory" && sha256sum -- fsarena* > SHA256SUMS)
ls -l --block-size=K "$directory"
