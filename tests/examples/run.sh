#!/usr/bin/env bash
# run.sh LANGUAGES TEST BUILD FOLDER: runs a test of this folder with the examples in these languages, a list such as
# "node python java". Packages are installed and classes compiled into FOLDER, never beside the sources. A language
# that this machine lacks is printed as skipped, and the exit code is 77 when none is left; Node.js must be there.
set -euo pipefail
languages=$1 test=$2
export TIDEKEEPER_BUILD=$3
folder=$4
here=$(cd "$(dirname "$0")" && pwd)
examples=$(cd "$here/../../resources/examples" && pwd)
drivers=$here/drivers
mkdir -p "$folder"

# Two tests may prepare the same folder at once.
exec 9>"$folder/lock"
flock 9

prepare_node() {
    reason="node or npm is not installed"
    command -v node >/dev/null && command -v npm >/dev/null || return 1
    reason="npm ci failed"
    mkdir -p "$folder/node"
    cp "$examples"/node/* "$folder/node"
    if ! cmp -s "$folder/node/package-lock.json" "$folder/node/node_modules/.installed-from"; then
        (cd "$folder/node" && npm ci --prefer-offline --no-audit --no-fund) >&2 || return 1
        cp "$folder/node/package-lock.json" "$folder/node/node_modules/.installed-from"
    fi
    command='["node", "'$drivers'/driver.js", "'$folder'/node/gmailquota.js"]'
}

prepare_python() {
    local python
    for python in python3 /usr/bin/python3; do
        if "$python" -c 'import redis.retry' 2>/dev/null; then
            command='["'$python'", "'$drivers'/driver.py", "'$examples'/python"]'
            return
        fi
    done
    reason="no python3 has the package redis (python3-redis on Debian)"
    return 1
}

prepare_java() {
    reason="there is no JDK of version 17 or later"
    [ "$(javac -version 2>/dev/null | grep -o '[0-9]*' | head -1)" -ge 17 ] 2>/dev/null || return 1
    mkdir -p "$folder/java"
    if ! cmp -s "$examples/java/pom.xml" "$folder/java/pom.xml" || ! ls "$folder"/java/lib/jedis-*.jar >/dev/null 2>&1; then
        reason="Jedis cannot be had: there is no mvn, or its repository cannot be reached"
        command -v mvn >/dev/null || return 1
        rm -rf "$folder/java/lib"
        cp "$examples/java/pom.xml" "$folder/java/pom.xml"
        timeout 240 mvn -q -B -f "$folder/java/pom.xml" dependency:copy-dependencies -DoutputDirectory="$folder/java/lib" \
            >"$folder/java/mvn.log" 2>&1 || return 1
    fi
    # What does not compile is no reason to skip.
    javac -Werror -Xlint:all,-serial -cp "$folder/java/lib/*" -d "$folder/java/classes" "$examples/java/GmailQuota.java" \
        "$drivers/Driver.java" || exit 1
    command='["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", "'$folder'/java/lib/*:'$folder'/java/classes", "Driver"]'
}

found=()
for language in $languages; do
    if "prepare_$language"; then found+=("\"$language\": $command")
    elif [ "$language" = node ]; then
        echo "Node.js is never skipped: $reason" >&2
        exit 1
    else echo "skipped: $language: $reason"
    fi
done
flock -u 9
[ "${#found[@]}" -gt 0 ] || exit 77

TIDEKEEPER_EXAMPLE_DRIVERS="{$(IFS=,; echo "${found[*]}")}"
export TIDEKEEPER_EXAMPLE_DRIVERS
exec timeout -k 5 300 node --test --test-reporter=spec "$here/$test"
