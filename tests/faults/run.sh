#!/usr/bin/env bash
# Real processes that are broken on purpose, and an account of what came of it. Usage:
#   run.sh [limiter|queue|renewal|scheduler] [--seed N] [--minutes M] [--only SCENARIO] [--small] [--build DIR]
# Without a name: all four. Exit code 0 only when every scenario passed. Without --build it builds what it needs.
# README.md says what is judged.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
usage() { sed -n '2,5s/^# //p' "$0" >&2; exit 2; }

groups=()
build=
only=
options=()
while [ $# -gt 0 ]; do
    case "$1" in
        limiter | queue | renewal | scheduler) groups+=("$1") ;;
        --build) build=${2:?}; shift ;;
        --only) only=${2:?}; options+=("$1" "$2"); shift ;;
        --seed | --minutes) options+=("$1" "${2:?}"); shift ;;
        --small) options+=("$1") ;;
        *) usage ;;
    esac
    shift
done
[ ${#groups[@]} -gt 0 ] || groups=(limiter queue renewal scheduler)
[ -z "$only" ] || [ ${#groups[@]} = 1 ] || { echo "run.sh: --only needs the name of a group." >&2; exit 2; }

root=$(cd "$here/../.." && pwd)
if [ -z "$build" ]; then
    build=$root/build/faults
    (cd "$root" && cmake --preset release -B "$build" -DTIDEKEEPER_TESTS=ON -DTIDEKEEPER_FAULT_POINTS=ON \
        && cmake --build "$build" --target "${groups[@]/#/tidekeeper-faults-}") >&2
fi
build=$(cd "$build" && pwd)

# An address that vanishes needs a network of its own. Once it is gone, the route sends what is meant for it back into
# this network, where nobody has it and nothing is said about it.
namespace=(unshare --net --map-root-user)
network='ip link set lo up && ip addr add 10.77.0.1/32 dev lo && ip route add 10.77.0.0/24 dev lo'

runUnroutable() { # program
    if [ -n "$only" ] && [ "$only" != unroutable ]; then return 0; fi
    if ! reason=$("${namespace[@]}" sh -c "$network" 2>&1); then
        echo "unroutable: skipped, no network of its own is permitted here (${reason//$'\n'/; })"
        return 0
    fi
    "${namespace[@]}" sh -c "$network && exec \"\$0\" \"\$@\"" "$1" --namespace "${options[@]}"
}

code=0
for group in "${groups[@]}"; do
    echo "== $group"
    program=$build/tests/tidekeeper-faults-$group
    [ -x "$program" ] || { echo "run.sh: $program is missing; build the target tidekeeper-faults-$group." >&2; exit 2; }
    [ "$only" = unroutable ] || "$program" "${options[@]}" || code=1
    [ "$group" != limiter ] || runUnroutable "$program" || code=1
done
exit "$code"
