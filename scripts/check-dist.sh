#!/usr/bin/env bash
# Installs the packages in DIRECTORY on clean Debian roots and compares two filesystems there in a guest; runs the
# tarball on a root with nothing but busybox. Needs root, and about 2 GB below TMPDIR for each release.
set -euo pipefail
directory=$(realpath "$1")
shift
releases=("$@")
[ ${#releases[@]} -gt 0 ] || releases=(bookworm trixie)

package=$(echo "$directory"/fsarena_*_amd64.deb)
tarball=$(echo "$directory"/fsarena-*-x86_64-linux.tar.gz)
work=$(mktemp -d -p "${TMPDIR:-/var/tmp}")
trap 'rm -rf --one-file-system "$work"' EXIT

(cd "$directory" && sha256sum --check --quiet SHA256SUMS)
# The address of who builds is of no account here.
lintian --fail-on error --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog "$package"

# A root without /proc has no mounts to leave behind; programs that need it get a private one.
in_root() { unshare --mount --pid --fork --mount-proc="$1/proc" chroot "$@"; }

on_busybox() {
  local root=$work/busybox
  mkdir -p "$root"/{bin,proc,dev,tmp,root}
  cp "$(command -v busybox)" "$root/bin/busybox"
  ln -s busybox "$root/bin/sh"
  tar --strip-components=1 -C "$root/root" -xf "$tarball"
  in_root "$root" /root/fsarena
  # It cannot run anything here, and says why in one line.
  if in_root "$root" /root/fsarena run -c ext4 -c xfs --profile smoke 2> "$work/stderr"; then
    echo "a campaign ran on a root without mkfs" >&2
    exit 1
  fi
  cat "$work/stderr"
  [ "$(wc -l < "$work/stderr")" -le 3 ]
}

on_debian() {
  local release=$1 root=$work/$1
  echo "== $release"
  mmdebstrap --quiet --variant=minbase --include=ca-certificates "$release" "$root"
  cp "$package" "$root/root/fsarena.deb"
  local start=$SECONDS
  in_root "$root" apt-get update --quiet > "$work/log"
  in_root "$root" apt-get install --yes --quiet /root/fsarena.deb > "$work/log"
  in_root "$root" fsarena
  in_root "$root" fsarena guest build
  in_root "$root" fsarena run --backend vm -c ext4 -c xfs -s tree --profile smoke
  echo "$release: first answer $((SECONDS - start)) s after the start of the installation"
  rm -rf --one-file-system "$root"
}

on_busybox
for release in "${releases[@]}"; do
  on_debian "$release"
done
