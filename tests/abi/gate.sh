#!/usr/bin/env bash
# Compares the binary interface of the SDK with the committed one, or writes that anew.
#   gate.sh check|update PROBE.so TOOLCHAIN
# Exit codes: 0 same, 1 changed, 77 cannot be compared here (ctest shows it as skipped).
set -euo pipefail

mode=$1 probe=$2 toolchain=$3
here=$(cd "$(dirname "$0")" && pwd)
golden=$here/sdk.abi
source_dir=$here/../..

skip() { echo "skipped: $1"; exit 77; }

command -v abidiff > /dev/null || skip "abidiff is not installed (package abigail-tools)"
toolchain="$toolchain, $(abidw --version)"

# Types of Qt and of the standard library come along with ours; their names are enough.
describe() {
    abidw --headers-dir "$source_dir/engine/sdk/include" --drop-private-types \
        --suppressions "$here/notours.abignore" \
        --no-corpus-path --no-comp-dir-path --no-show-locs --no-parameter-names --no-elf-needed \
        "$probe" | sed "s#path='[^']*/engine/#path='engine/#" > "$1"
}

case $mode in
update)
    describe "$golden"
    echo "$toolchain" > "$here/toolchain.txt"
    ;;
check)
    [ "$toolchain" = "$(cat "$here/toolchain.txt")" ] \
        || skip "this is $toolchain; the committed description is of $(cat "$here/toolchain.txt")"
    now=$(mktemp --suffix=.abi)
    trap 'rm -f "$now"' EXIT
    describe "$now"
    # Any difference counts: abidiff never sets its bit "incompatible", not even for an inserted virtual function,
    # and without --harmless it overlooks a changed parameter type.
    abidiff --no-added-syms --harmless "$golden" "$now" || {
        echo
        echo "The plugin ABI changed. A published interface is never edited: add a new one with the next number in"
        echo "its IID. For an addition, or before the first release, run the target update_abi and commit the result."
        exit 1
    }
    ;;
*)
    echo "usage: gate.sh check|update PROBE.so TOOLCHAIN" >&2
    exit 2
    ;;
esac
