#!/usr/bin/env bash
# run.sh SIMULATOR FOLDER: installs the locked npm packages into FOLDER, never beside the sources, and runs the tests
# there. Exit code 77 = skipped, with the reason printed.
set -euo pipefail
simulator=$(realpath "$1")
folder=$2
sources=$(cd "$(dirname "$0")" && pwd)

skip() {
    echo "skipped: $1"
    exit 77
}

command -v node >/dev/null || skip "Node.js is not installed"
command -v npm >/dev/null || skip "npm is not installed"
version=$(node --version)
[ "$(echo "${version#v}" | cut -d. -f1)" -ge 18 ] || skip "Node.js $version is older than 18"

mkdir -p "$folder"
cp "$sources"/package.json "$sources"/package-lock.json "$sources"/*.js "$folder"
cd "$folder"
if ! cmp -s package-lock.json node_modules/.installed-from; then
    if ! npm ci --prefer-offline --no-audit --no-fund >npm.log 2>&1; then
        cat npm.log
        # With the registry in reach the lock file is at fault, and that is a failure.
        npm view gaxios version >/dev/null 2>&1 || skip "the npm registry cannot be reached"
        exit 1
    fi
    cp package-lock.json node_modules/.installed-from
fi
TIDEKEEPER_GOOGLE_SIM=$simulator exec node --test
