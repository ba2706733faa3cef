#!/bin/sh
# Profiles one kernel with Nsight Compute on the GPU. No Rust is needed.
#
#   ./profile.sh reduce_best            all instances of the kernel, as `warpwright ladder` launches them
#   ./profile.sh reduce_best__sum_f32   one instance
#
# The report is printed, with the kernel's Rust source lines, and kept as KERNEL.ncu-rep in the
# folder where this is run, for ncu-ui.
set -u

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

if [ $# -ne 1 ]; then
    echo "profile: the name of one kernel required, given $#" >&2
    exit 2
fi
kernel=$1
case $kernel in
*__*) pattern="$kernel" ;;
*) pattern="$kernel(__[a-z0-9_]*)?" ;;
esac

# A bundle has them packed.
if [ ! -d "$here/ptx" ]; then
    xz -dc "$here/kernels.tar.xz" | tar -xf - -C "$here" || {
        echo "profile: the kernels could not be unpacked; this needs tar and xz" >&2
        exit 1
    }
fi
module=$(grep -lE "^\.visible \.entry $pattern\(" "$here"/ptx/*/*.ptx | head -n 1)
if [ -z "$module" ]; then
    echo "profile: the name of a kernel required, given $kernel; there are:" >&2
    sed -n 's/^\.visible \.entry \([a-z0-9_]*\)(.*/\1/p' "$here"/ptx/*/*.ptx |
        sed 's/__.*//' | sort -u | tr '\n' ' ' >&2
    echo >&2
    exit 2
fi
family=$(basename "$module" .ptx)

ncu=
for candidate in "$(command -v ncu)" "${CUDA_HOME:-}/bin/ncu" "${CUDA_PATH:-}/bin/ncu" \
    /usr/local/cuda/bin/ncu; do
    if [ -z "$ncu" ] && [ -x "$candidate" ] && [ ! -d "$candidate" ]; then
        ncu=$candidate
    fi
done
if [ -z "$ncu" ]; then
    echo "profile: ncu (Nsight Compute) required, found none; it is part of the CUDA toolkit:" \
        "install that, and put its bin folder on PATH or set CUDA_HOME" >&2
    exit 1
fi

export WARPWRIGHT_PTX_DIR="$here/ptx"
grep -q '[[:space:]]\.loc[[:space:]]' "$module" ||
    echo "profile: the folder ptx has no source lines, so none are shown" >&2

# Profiles the first launch of the kernel that these arguments of warpwright make.
first_launch() {
    "$ncu" --clock-control none --set full --import-source yes --source-folders "$here/source" \
        --kernel-name "regex:^$pattern\$" --launch-count 1 \
        --force-overwrite --export "$kernel" "$here/warpwright" "$@" --device cuda --family "$family"
}

# The first launch is as large as those that the ladder times, for the kernels that it times.
first_launch ladder || exit 1
if [ ! -f "$kernel.ncu-rep" ]; then
    echo "profile: the ladder does not launch $kernel: the first launch of warpwright verify is taken," \
        "which is small" >&2
    first_launch verify || exit 1
fi
if [ ! -f "$kernel.ncu-rep" ]; then
    echo "profile: no launch of $kernel was seen" >&2
    exit 1
fi
"$ncu" --import "$kernel.ncu-rep" --page details
"$ncu" --import "$kernel.ncu-rep" --page source --print-source cuda
