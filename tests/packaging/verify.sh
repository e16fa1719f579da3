#!/usr/bin/env bash
# verify.sh UNIT PROGRAM SYSUSERS: what systemd itself thinks of the files, with the program where it was built.
# Exit code 77 = skipped.
set -euo pipefail
unit=$1 program=$2 sysusers=$3

if ! command -v systemd-analyze >/dev/null; then
    echo "SKIP: systemd-analyze is not here (Debian: apt install systemd)"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
copy=$folder/tidekeeper.service
sed "s|^ExecStart=[^ ]*|ExecStart=$program|" "$unit" >"$copy"

# Unknown keys and values are only said, not failed: nothing may be said of ours.
said=$(systemd-analyze verify --man=no --recursive-errors=no "$copy" 2>&1) || { echo "$said"; exit 1; }
if grep -F "tidekeeper" <<<"$said"; then exit 1; fi

# 10 = nothing is confined, 0 = everything is.
systemd-analyze security --offline=yes --threshold=15 --no-pager "$copy" >"$folder/exposure" ||
    { cat "$folder/exposure"; exit 1; }
tail -n 1 "$folder/exposure"

if command -v systemd-sysusers >/dev/null; then
    mkdir "$folder/root"
    systemd-sysusers --root="$folder/root" --dry-run "$sysusers" 2>&1 | tee "$folder/users"
    grep -q "tidekeeper" "$folder/users"
fi
