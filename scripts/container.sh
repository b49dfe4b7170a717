#!/usr/bin/env bash
# Makes a container image with the program, QEMU and a guest, so that it needs no network: DIRECTORY/fsarena-VERSION-oci.tar.
# Usage: container.sh PROGRAM DIRECTORY. Format: https://github.com/opencontainers/image-spec
set -euo pipefail
program=$1
directory=$2
here=$(cd "$(dirname "$0")/.." && pwd)
packages=qemu-system-x86,e2fsprogs,xfsprogs,btrfs-progs,dosfstools

version=$("$program" --version | cut -d ' ' -f 2)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$here" log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
work=$(mktemp -d -p "${TMPDIR:-/var/tmp}")
trap 'rm -rf "$work"' EXIT
mkdir -p "$directory" "$work/image/blobs/sha256" "$work/cache"

# The guest is built here and packed; the container cannot build one, because it has no compiler.
XDG_CACHE_HOME=$work/cache "$program" guest build

mmdebstrap --quiet --variant=apt --include="$packages" --aptopt='APT::Install-Recommends "false"' \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' \
  --customize-hook="upload '$program' /usr/bin/fsarena" --customize-hook='chmod 755 "$1/usr/bin/fsarena"' \
  --customize-hook='mkdir -p "$1/root/.cache"' \
  --customize-hook="sync-in '$work/cache' /root/.cache" \
  --customize-hook='rm -rf "$1"/root/.cache/fsarena/apt "$1"/root/.cache/fsarena/packages' \
  bookworm "$work/layer.tar"

digest_of() { sha256sum "$1" | cut -d ' ' -f 1; }
# Moves a file to the blobs, and prints its descriptor.
blob() {
  local file=$1 type=$2 digest
  digest=$(digest_of "$file")
  printf '{"mediaType": "%s", "digest": "sha256:%s", "size": %s}' "$type" "$digest" "$(stat -c %s "$file")"
  mv "$file" "$work/image/blobs/sha256/$digest"
}

created=$(date --utc --date="@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
content=$(digest_of "$work/layer.tar")
gzip -9 -n "$work/layer.tar"
layer=$(blob "$work/layer.tar.gz" application/vnd.oci.image.layer.v1.tar+gzip)
cat > "$work/config.json" << JSON
{"created": "$created", "architecture": "amd64", "os": "linux",
 "config": {"Entrypoint": ["/usr/bin/fsarena"], "WorkingDir": "/root", "Env": ["HOME=/root", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"]},
 "rootfs": {"type": "layers", "diff_ids": ["sha256:$content"]}}
JSON
config=$(blob "$work/config.json" application/vnd.oci.image.config.v1+json)
cat > "$work/manifest.json" << JSON
{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": $config, "layers": [$layer]}
JSON
manifest=$(blob "$work/manifest.json" application/vnd.oci.image.manifest.v1+json)
cat > "$work/image/index.json" << JSON
{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
 "manifests": [${manifest%\}}, "annotations": {"org.opencontainers.image.ref.name": "fsarena:$version"}}]}
JSON
echo '{"imageLayoutVersion": "1.0.0"}' > "$work/image/oci-layout"
archive=$directory/fsarena-$version-oci.tar
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --format=gnu \
  -C "$work/image" -cf "$archive" .
ls -l --block-size=K "$archive"
