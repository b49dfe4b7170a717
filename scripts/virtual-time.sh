#!/bin/sh
# Runs the same campaigns in virtual time and in real time, and writes into a document how far they agree.
# Usage: virtual-time.sh DOCUMENT, as root.
#
# Real time is this machine's kernel on an image in memory, where nothing but processor and kernel decides, and on an image on
# its disk. Virtual time is a guest of the same memory and disk size, on a disk without flushes that cost anything (`loop-memory`)
# and on a consumer's NVMe disk that has no forced writes, as loop devices have none. Between both stands the same guest in
# real time: it has the kernel of the one and the clock of the other.
set -eu
document=$1
# What only this comparison needs, in a namespace that takes it away.
if [ "${FSARENA_VIRTUAL_TIME:-}" != inside ]; then
    FSARENA_VIRTUAL_TIME=inside exec unshare --mount --propagation private "$0" "$document"
fi
fsarena=${FSARENA:-target/x86_64-unknown-linux-gnu/release/fsarena}
rounds=${ROUNDS:-5}
# A cell of an emulated guest takes some seconds: filesystems of the kernel have to do.
guest_rounds=${GUEST_ROUNDS:-3}
kernels='-c ext2 -c ext3 -c ext4 -c xfs -c btrfs'
all="$kernels -c ntfs-3g -c exfat-fuse -c fuse2fs-ext4"
same='--profile smoke --size 512MiB --memory 1GiB'
directory=$(mktemp -d /var/tmp/fsarena-virtual-time.XXXXXX)
mkdir "$directory/memory"
trap 'umount "$directory/memory" 2>/dev/null || true; rm -rf "$directory"' EXIT
trap 'exit 130' INT TERM
mount -t tmpfs -o size=2g tmpfs "$directory/memory"

# run NAME OPTION...: a campaign in a database of its own.
run() {
    name=$1
    shift
    echo "campaign $name" >&2
    # shellcheck disable=SC2086
    "$fsarena" --catalog scripts/virtual-time run --quiet --db "$directory/$name.db" --name "$name" \
        $same "$@" >/dev/null
}
virtual="--backend vm --clock virtual --rounds 1 $all"
# shellcheck disable=SC2086
{
    run virtual-memory $virtual --disk loop-memory
    run real-memory $all --rounds "$rounds" --work-dir "$directory/memory"
    run virtual-disk $virtual --disk loop-nvme
    run real-disk $all --rounds "$rounds" --work-dir "$directory"
    run guest-memory $kernels --backend vm --clock real --processors 1 --rounds "$guest_rounds" --work-dir "$directory/memory"
    run real-memory-again $all --rounds "$rounds" --work-dir "$directory/memory"
}

agree() {
    "$fsarena" --catalog scripts/virtual-time tool agree --markdown "$directory/$1.db" "$directory/$2.db" | sed 's/^##/###/'
}
{
    sed '/^<!-- fsarena tool agree: begin -->$/q' "$document"
    printf '\nMeasured on %s on %s processors (%s), Linux %s, %s rounds in real time, %s in guests.\n' "$(date '+%-d %B %Y')" "$(nproc)" \
        "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(uname -r | cut -d. -f1,2)" "$rounds" "$guest_rounds"
    printf '\n## Without a disk: the image in memory\n\n'
    agree virtual-memory real-memory
    printf '\n## On a disk\n\n'
    agree virtual-disk real-disk
    printf '\n## The same kernel: guests in virtual time and in real time\n\nImage in memory; emulated without KVM.\n\n'
    agree virtual-memory guest-memory
    printf '\n## The same clock: guests in real time and this machine'"'"'s kernel\n\nImage in memory.\n\n'
    agree guest-memory real-memory
    printf '\n## Agreement of real time with itself\n\nImage in memory, measured twice.\n\n'
    agree real-memory-again real-memory
    printf '\n'
    sed -n '/^<!-- fsarena tool agree: end -->$/,$p' "$document"
} >"$directory/document"
cat "$directory/document" >"$document"
