#!/usr/bin/env bash
# Makes small databases with a given fsarena and writes them as SQL text, as crates/campaign/tests/all/old_databases.rs reads
# them. For a program whose databases are not covered yet; the dumps of older programs are never made again.
#
#   sudo scripts/dump-databases.sh FSARENA DIRECTORY
#
# Needs root (loop devices), sqlite3, QEMU, and e2fsprogs. Takes one minute, and one more if the guest must be built.
set -euo pipefail

fsarena=$(realpath "${1:?usage: $0 FSARENA DIRECTORY}")
output=$(realpath -m "${2:?usage: $0 FSARENA DIRECTORY}")
samples=$(realpath "$(dirname "$0")/../crates/import/tests/samples")
mkdir -p "$output"

place=$(mktemp -d /var/tmp/old-databases-XXXXXX)
trap 'rm -rf "$place"' EXIT
cd "$place"

# Runs fsarena on one database. The name of this shell's cgroup does not get into the database.
on() {
  local name=$1
  shift
  unshare --cgroup "$fsarena" --quiet --db "$name.db" "$@" >/dev/null
}

# Writes a database as text. The two pragmas are in the file's header, which .dump omits.
dump() {
  local name=$1
  {
    sqlite3 "$name.db" "SELECT 'PRAGMA application_id = ' || application_id || ';' FROM pragma_application_id"
    sqlite3 "$name.db" "SELECT 'PRAGMA user_version = ' || user_version || ';' FROM pragma_user_version"
    sqlite3 "$name.db" .dump
  } >"$output/$name.sql"
}

# Interrupts a command when its database has a number of results.
interrupt_after() {
  local results=$1 name=$2
  shift 2
  unshare --cgroup "$fsarena" --quiet --db "$name.db" "$@" >/dev/null &
  local process=$!
  until [ "$(sqlite3 "$name.db" 'SELECT count(*) FROM cell' 2>/dev/null || echo 0)" -ge "$results" ]; do
    sleep 0.02
  done
  kill -INT "$process"
  wait "$process" || [ $? = 130 ]
}

small=(--profile smoke --rounds 1)

on loop run "${small[@]}" -s bonnie/bonnie-block -c ext4 -c ext2:noatime --seed 7 --name loop
dump loop

mkdir a b
on dir run "${small[@]}" -s large-file/large-file --dir a --dir b --seed 8 --name dir
dump dir

on vm run --backend vm --clock virtual --no-cache "${small[@]}" -s metadata/metadata-deep \
  -c ext4@nvme-consumer -c hpfs@hdd-2007-15k-sas --seed 9 --name vm
dump vm

for sample in fio-3.33.json hyperfine-1.15.json bonnie-2.00.csv mdtest-3.3.0.txt; do
  cp "$samples/$sample" .
  on imported import "$sample"
done
dump imported

on aged run "${small[@]}" -s metadata/metadata-deep -c ext2 --age git-history --fill 10% --size 48M --seed 10 \
  --name aged
dump aged

# A driver that hangs, a filesystem that needs a larger disk, and two that lack features.
on statuses run --backend vm --clock virtual --no-cache "${small[@]}" -s lifecycle/features --size 48M --stall-timeout 5s \
  -c fat12 -c fuse-ext2 -c xfs --seed 11 --name statuses
dump statuses

interrupt_after 1 interrupted run --profile smoke --rounds 4 -s metadata/metadata-deep -c ext4 -c ext2 --seed 12 \
  --name interrupted
interrupt_after 3 interrupted resume
dump interrupted
