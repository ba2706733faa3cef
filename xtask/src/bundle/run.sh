#!/bin/sh
# Runs the tests of warpwright on this machine. No Rust is needed.
#
#   ./run.sh                 all of them
#   ./run.sh reduce cli      those whose name contains one of the words
#   WARPWRIGHT_REQUIRE_CUDA=1 ./run.sh    a machine without a CUDA device is a failure
set -u

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

# Where the tests find what cargo would have built beside them.
export WARPWRIGHT_FAULT_DRIVER="$here/fault-driver/libcuda.so.1"
export CARGO_BIN_EXE_warpwright="$here/warpwright"
export WARPWRIGHT_DEVICE_TESTS_PTX="$here/device-tests"
unset WARPWRIGHT_PTX_DIR

wanted() {
    name=$1
    shift
    [ $# -eq 0 ] && return 0
    for word in "$@"; do
        case $name in *"$word"*) return 0 ;; esac
    done
    return 1
}

for tool in xz tar; do
    command -v $tool >/dev/null || {
        echo "run.sh: $tool required, found none: install it (Debian: apt-get install xz-utils tar)" >&2
        exit 1
    }
done
mkdir "$scratch/tests"
xz -dc "$here/tests.tar.xz" | tar -xf - -C "$scratch/tests" || exit 1

passed=0
failed=0
programs=0
for program in "$scratch"/tests/*; do
    name=$(basename "$program")
    wanted "$name" "$@" || continue
    programs=$((programs + 1))
    echo "== $name"
    # A folder of its own to work in.
    mkdir "$scratch/work"
    { (cd "$scratch/work" && "$program" 2>&1); echo $? >"$scratch/status"; } |
        tee "$scratch/log"
    status=$(cat "$scratch/status")
    counts=$(sed -n 's/^test result: .*\. \([0-9]*\) passed; \([0-9]*\) failed;.*/\1 \2/p' \
        "$scratch/log" | tail -n 1)
    ours=${counts% *}
    theirs=${counts#* }
    passed=$((passed + ${ours:-0}))
    failed=$((failed + ${theirs:-0}))
    # A program that crashed has told of no failure.
    if [ "$status" -ne 0 ] && [ "${theirs:-0}" -eq 0 ]; then
        echo "$name ended with status $status"
        failed=$((failed + 1))
    fi
    rm -rf "$scratch/work"
done

if [ $programs -eq 0 ]; then
    echo "no test program has any of these words in its name: $*" >&2
    exit 2
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
