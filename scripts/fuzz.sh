#!/usr/bin/env bash
# Runs fuzz targets under libFuzzer, with a stable compiler: scripts/fuzz.sh all|TARGET SECONDS JOBS
# Each begins with the inputs in fuzz/corpus, those that are made and those of earlier runs; new ones go to
# target/fuzz/corpus. At the end there is a line for each; the exit code is 1 where an input crashes one.
set -euo pipefail
cd "$(dirname "$0")/.."

wanted=$1 seconds=$2 jobs=$3
triple=x86_64-unknown-linux-gnu
built=${CARGO_TARGET_DIR:-target}
work=$built/fuzz
fuzzer=$work/$triple/release/fuzz-target
inputs=$built/$triple/debug/fuzz-input

# What LLVM's SanitizerCoverage tells libFuzzer: edges, and what comparisons compare. Overflow is a fault.
build() {
  cargo build --locked --package fuzz --bin fuzz-input --target "$triple" --target-dir "$built"
  local coverage="-Cpasses=sancov-module" option
  for option in level=4 inline-8bit-counters pc-table trace-compares; do
    coverage+=" -Cllvm-args=-sanitizer-coverage-$option"
  done
  RUSTFLAGS="$coverage -Cdebug-assertions -Coverflow-checks -Ccodegen-units=16" \
    CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_STRIP=none \
    cargo build --release --locked --package fuzz --bin fuzz-target --features libfuzzer \
    --target "$triple" --target-dir "$work"
}

# Runs one target until its time is over or it crashes; what crashed it before is tried first. An input that is slow on a
# busy machine is no fault before it takes two minutes.
fuzz() {
  local target=$1 longest=$2
  local corpus=$work/corpus/$target crashes=$work/crashes/$target seeds=$work/seeds/$target
  # Binary inputs are not kept, but made.
  local kept=fuzz/corpus/$target
  [ -d "$kept" ] || kept=$seeds
  rm -rf "$seeds"
  mkdir -p "$corpus" "$crashes"
  "$inputs" seeds "$target" "$seeds"
  FUZZ_TARGET=$target "$fuzzer" "$corpus" "$kept" "$seeds" "$crashes" \
    -dict=fuzz/dictionary -max_total_time="$seconds" -max_len="$longest" -timeout=120 -report_slow_units=120 \
    -rss_limit_mb=2048 \
    -print_final_stats=1 -artifact_prefix="$crashes/" >"$work/$target.log" 2>&1 || true
}

# What came of a target, in one line, and how to see it again; false where it crashed.
report() {
  local target=$1 log=$work/$1.log runs speed coverage crash
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  speed=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
  coverage=$(sed -n 's/.* cov: \([0-9]*\) ft: \([0-9]*\) .*/\1 edges, \2 features/p' "$log" | tail -n 1)
  printf '%-9s %9s runs, %6s a second, %s: ' "$target" "${runs:-?}" "${speed:-?}" "${coverage:-no coverage}"
  crash=$(sed -n 's/.*Test unit written to //p' "$log")
  if [ -n "$crash" ]; then
    printf 'CRASH\n  input:  %s\n  said:   %s\n  replay: cargo run -p fuzz -- replay %s %s\n' \
      "$crash" "$log" "$target" "$crash"
    return 1
  elif [ -z "$runs" ]; then
    printf 'DID NOT RUN, see %s\n' "$log"
    return 1
  fi
  echo "no crash"
}

build
targets=()
while read -r target longest; do
  [ "$wanted" = all ] || [ "$wanted" = "$target" ] || continue
  targets+=("$target")
  while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
  echo "$target for $seconds s"
  fuzz "$target" "$longest" &
done < <("$inputs" targets)
wait
[ ${#targets[@]} -gt 0 ] || { echo "there is no target $wanted" >&2; exit 2; }

code=0
for target in "${targets[@]}"; do report "$target" || code=1; done
exit "$code"
