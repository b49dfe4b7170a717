#!/usr/bin/env bash
# Runs all tests, which are built: `make test`. Tests of guests, unit tests and clippy need processors, and most others wait
# for a disk, a browser or a time limit: so three groups run at the same time. The tests of `alone` come first, because they
# measure the page cache. Prints the output of a group when it has ended; the unit tests come last.
set -uo pipefail
# Each group is a process group, and does not ignore SIGINT.
set -m

# The tests use the program as it is, and do not ask cargo, which would wait for clippy.
export FSARENA_TESTS_BUILT=1
logs=target/test-logs
mkdir -p "$logs"
processors=$(nproc)
failed=0

# Runs tests of the named end-to-end programs; the first argument is the number of tests at the same time.
end_to_end() {
  local threads=$1
  shift
  # The words of the command are separate.
  # shellcheck disable=SC2086
  RUST_TEST_THREADS=$threads $END_TO_END "${@/#/--test=}"
}

# Runs what needs neither guests nor a browser.
checks() {
  local failed=0
  $UNIT_TESTS >"$logs/unit" 2>&1 || failed=1
  $CLIPPY >"$logs/clippy" 2>&1 || failed=1
  return $failed
}

trap 'kill -- $(jobs -p | sed s/^/-/) 2>/dev/null' EXIT
trap 'exit 130' INT TERM

checks & checks=$!
end_to_end $((2 * processors)) alone || failed=1
end_to_end $((processors + 1)) guests >"$logs/guests" 2>&1 & guests=$!
end_to_end $((2 * processors)) devices host smoke || failed=1
wait $guests || failed=1
cat "$logs/guests"
wait $checks || failed=1
cat "$logs/clippy" "$logs/unit"
exit $failed
