#!/bin/sh
# Runs `warpwright verify --quick` on the GPU under compute-sanitizer. No Rust is needed.
#
#   ./sanitize.sh                      all four tools
#   ./sanitize.sh memcheck racecheck   these: memcheck, racecheck, initcheck, synccheck
#   FAMILY=reduce ./sanitize.sh        this family alone
#
# What is found is shown with the kernel's Rust source lines.
set -u

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

if [ $# -eq 0 ]; then
    set -- memcheck racecheck initcheck synccheck
fi
for tool in "$@"; do
    case $tool in
    memcheck | racecheck | initcheck | synccheck) ;;
    *)
        echo "sanitize: memcheck, racecheck, initcheck or synccheck required, given $tool" >&2
        exit 2
        ;;
    esac
done

sanitizer=
for candidate in "$(command -v compute-sanitizer)" "${CUDA_HOME:-}/bin/compute-sanitizer" \
    "${CUDA_PATH:-}/bin/compute-sanitizer" /usr/local/cuda/bin/compute-sanitizer; do
    if [ -z "$sanitizer" ] && [ -x "$candidate" ] && [ ! -d "$candidate" ]; then
        sanitizer=$candidate
    fi
done
if [ -z "$sanitizer" ]; then
    echo "sanitize: compute-sanitizer required, found none; it is part of the CUDA toolkit:" \
        "install that, and put its bin folder on PATH or set CUDA_HOME" >&2
    exit 1
fi

# A bundle has them packed.
if [ ! -d "$here/ptx" ]; then
    xz -dc "$here/kernels.tar.xz" | tar -xf - -C "$here" || {
        echo "sanitize: the kernels could not be unpacked; this needs tar and xz" >&2
        exit 1
    }
fi
export WARPWRIGHT_PTX_DIR="$here/ptx"
grep -q '[[:space:]]\.loc[[:space:]]' "$here"/ptx/*/*.ptx ||
    echo "sanitize: the folder ptx has no source lines, so none are shown" >&2

# Of its own, so that it differs from those of the program.
found=86
status=0
for tool in "$@"; do
    echo "== $tool"
    case $tool in
    memcheck) options="--leak-check full" ;;
    racecheck) options="--racecheck-report all" ;;
    *) options= ;;
    esac
    # shellcheck disable=SC2086 # The options are words.
    "$sanitizer" --tool "$tool" $options --print-limit 20 --error-exitcode $found \
        "$here/warpwright" verify --quick --device cuda ${FAMILY:+--family "$FAMILY"}
    result=$?
    case $result in
    0) echo "$tool: nothing found" ;;
    "$found") echo "$tool: errors found" ;;
    *) echo "$tool: the program ended with status $result" ;;
    esac
    [ $result -eq 0 ] || status=1
done
exit $status
