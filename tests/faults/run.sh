#!/usr/bin/env bash
# The built product against a Redis that fails in every way. Usage:
#   run.sh limiter [--seed N] [--minutes M] [--only SCENARIO] [--small] [--build DIR]
# Exit code 0 only when every scenario passed. Without --build it builds what it needs. README.md says what is judged.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
usage() { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }

[ "${1:-}" = limiter ] || usage
shift
root=$(cd "$here/../.." && pwd)
build=
options=()
while [ $# -gt 0 ]; do
    case "$1" in
        --build) build=${2:?}; shift ;;
        --seed | --minutes | --only) options+=("$1" "${2:?}"); shift ;;
        --small) options+=("$1") ;;
        *) usage ;;
    esac
    shift
done
if [ -z "$build" ]; then
    build=$root/build/faults
    (cd "$root" && cmake --preset release -B "$build" -DTIDEKEEPER_TESTS=ON \
        && cmake --build "$build" --target tidekeeper-faults) >&2
fi
program=$(cd "$build" && pwd)/tests/tidekeeper-faults
[ -x "$program" ] || { echo "run.sh: $program is missing; build the target tidekeeper-faults." >&2; exit 2; }

# An address that vanishes needs a network of its own. Once it is gone, the route sends what is meant for it back into
# this network, where nobody has it and nothing is said about it.
namespace=(unshare --net --map-root-user)
network='ip link set lo up && ip addr add 10.77.0.1/32 dev lo && ip route add 10.77.0.0/24 dev lo'

inNamespace() { "${namespace[@]}" sh -c "$network && exec \"\$0\" \"\$@\"" "$program" --namespace "$@"; }

code=0
only=" ${options[*]} "
if [[ $only != *" --only unroutable "* ]]; then
    "$program" "${options[@]}" || code=1
fi
if [[ $only != *" --only "* || $only == *" --only unroutable "* ]]; then
    if reason=$("${namespace[@]}" sh -c "$network" 2>&1); then
        inNamespace "${options[@]}" || code=1
    else
        echo "unroutable: skipped, no network of its own is permitted here (${reason//$'\n'/; })"
    fi
fi
exit "$code"
