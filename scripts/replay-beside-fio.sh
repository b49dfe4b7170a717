#!/bin/sh
# Replays one iolog of random reads by fio and by fsarena, in a directory in memory, and prints the ratio of their rates and
# of their processor time: scripts/replay-beside-fio.sh FSARENA [READS]
set -eu
fsarena=$(realpath "$1")
reads=${2:-400000}
place=$(mktemp -d /dev/shm/replay-XXXXXX)
trap 'rm -rf "$place"' EXIT
cd "$place"
mkdir replayed
{
  printf 'fio version 2 iolog\nfile add\nfile open\n'
  awk -v n="$reads" 'BEGIN { srand(1); for (i = 0; i < n; i++) printf "file read %d 4096\n", int(rand() * 16384) * 4096 }'
  echo 'file close'
} >log
head -c 64M /dev/urandom >file
"$fsarena" -q trace import log -o log.trace
fio --name=job --thread --read_iolog=log --replay_no_stall=1 --invalidate=0 --ioengine=psync --output-format=json >fio.json
"$fsarena" --db "$place/db" -q trace replay log.trace --dir "memory=$place/replayed" --rounds 1 >report
"$fsarena" --db "$place/db" show --cell 0 >cell
python3 - <<'END'
import json, re
job = json.load(open("fio.json"))["jobs"][0]
read = job["read"]
fio = read["total_ios"] / (read["runtime"] / 1000)
fio_each = (job["usr_cpu"] + job["sys_cpu"]) / 100 / fio
units = {"": 1, "k": 1e3, "M": 1e6, "n": 1e-9, "µ": 1e-6, "m": 1e-3}
def value(metric, unit):
    found = re.search(rf"{metric}\s+([0-9.]+) (\D?){unit}", open("cell").read())
    return float(found[1]) * units[found[2]]
rate, each = value("rate", "/s"), value("cpu-per-operation", "s")
print(f"operations a second: fsarena {rate:.0f}, fio {fio:.0f}: {rate / fio:.2f} times as many")
print(f"processor an operation: fsarena {each * 1e6:.2f} µs, fio {fio_each * 1e6:.2f} µs: {each / fio_each:.2f} times as much")
END
