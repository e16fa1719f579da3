#!/usr/bin/env bash
# Measures one thing against its peers and prints a table:
#
#   tests/bench/run.sh NAME [--rounds N] [--json] [--smoke]
#
#   NAME          a folder beside this script that holds a main.js: see README.md
#   --rounds N    how often each contender runs; medians are of these
#   --json        print the results as one JSON object
#   --smoke       everything once and very short: shows that it works, not how fast
#   --part NAME   of the queue: one part only: see README.md
#   --minutes N, --document   of the experiments: see README.md
#
# TIDEKEEPER_BUILD      a build folder to use; default: build/release, built now
# TIDEKEEPER_BENCH_NPM  where peers from npm are installed; default: tidekeeper-bench in the user's cache folder
#
# Exit code: 0 when everything was measured, whatever the figures; 77 when npm cannot install the peers.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)

usage() {
    sed -n '2,16s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    printf '\nNames: %s\n' "$(cd "$here" && ls -d */main.js | xargs -n 1 dirname | tr '\n' ' ')"
    exit 2
}

need() {
    command -v "$1" >/dev/null || { echo "run.sh: $1 is missing; install the package $2." >&2; exit 1; }
}

# Installs the locked packages of a benchmark outside the tree and prints the folder of its modules.
install_packages() { # benchmark
    local folder=${TIDEKEEPER_BENCH_NPM:-${XDG_CACHE_HOME:-$HOME/.cache}/tidekeeper-bench}/$1
    mkdir -p "$folder"
    if ! cmp -s "$here/$1/package-lock.json" "$folder/node_modules/.installed-from"; then
        cp "$here/$1/package.json" "$here/$1/package-lock.json" "$folder"
        (cd "$folder" && npm ci --prefer-offline --no-audit --no-fund) >&2 || return 1
        cp "$here/$1/package-lock.json" "$folder/node_modules/.installed-from"
    fi
    echo "$folder/node_modules"
}

name=${1:-}
[ -n "$name" ] && [ -f "$here/$name/main.js" ] || usage
need node nodejs
need redis-server redis-server
[ "$name" != quota ] || need wrk wrk
ulimit -n "$(ulimit -Hn)" # for a thousand connections and more

if [ -z "${TIDEKEEPER_BUILD:-}" ]; then
    export TIDEKEEPER_BUILD=$root/build/release
    (cd "$root" && cmake --preset release && cmake --build --preset release) >&2
fi
if [ -f "$here/$name/package-lock.json" ]; then
    need npm npm
    NODE_PATH=$(install_packages "$name") ||
        { echo "run.sh: skipped: npm cannot install the packages of $name/package-lock.json." >&2; exit 77; }
    export NODE_PATH
fi
exec node "$here/$name/main.js" "${@:2}"
