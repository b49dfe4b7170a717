#!/bin/sh
# Runs campaigns of one filesystem under four names, and counts what their reports call different.
# Usage: real-error-rates.sh COUNT
set -eu
count=$1
fsarena=target/x86_64-unknown-linux-gnu/release/fsarena
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
trap 'exit 130' INT TERM
cargo build --release --locked -p report --example real_error_rates
contenders='-c one=ext4 -c two=ext4 -c three=ext4 -c four=ext4'
for number in $(seq "$count"); do
    echo "campaign $number of $count"
    # shellcheck disable=SC2086
    "$fsarena" run --quiet --db "$directory/aa.db" $contenders --profile smoke --rounds 3 >/dev/null
    "$fsarena" report "$number" --db "$directory/aa.db" --format json -o "$directory/$number.json"
done
cargo run --release --locked -q -p report --example real_error_rates -- \
    $(for number in $(seq "$count"); do echo "$directory/$number.json"; done)
