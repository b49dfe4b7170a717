#!/usr/bin/env bash
# Runs all tests, which are built: `make test`. Tests of guests and unit tests need processors, and most others wait for a
# disk, a browser or a time limit: so three groups run at the same time. The tests of `alone` come first, because they
# measure the page cache. Prints the output of a group when it has ended; the unit tests come last.
set -uo pipefail
# Each group is a process group, and does not ignore SIGINT.
set -m

# The tests use the program as it is, and do not ask cargo.
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

trap 'kill -- $(jobs -p | sed s/^/-/) 2>/dev/null' EXIT
trap 'exit 130' INT TERM

# A quarter of the usual random cases: each run draws others, and `make check` has all of them.
PROPTEST_CASES=${PROPTEST_CASES:-64} $UNIT_TESTS >"$logs/unit" 2>&1 & units=$!
end_to_end $((2 * processors)) alone || failed=1
end_to_end $((processors + 1)) guests >"$logs/guests" 2>&1 & guests=$!
end_to_end $((2 * processors)) devices host smoke || failed=1
wait $guests || failed=1
cat "$logs/guests"
wait $units || failed=1
cat "$logs/unit"
exit $failed
