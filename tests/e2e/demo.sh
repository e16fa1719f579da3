#!/usr/bin/env bash
# The demo: simulator, engine with its private Redis and SQLite, 300 accounts about to lapse, ten consumers on one
# account. Usage: demo.sh BUILD_DIR [--keep] [--accounts N] [--seconds S]. Exit code: that of the summary.
set -euo pipefail

build=$(cd "$1" && pwd)
shift
keep=0
accounts=300
seconds=60
while [ $# -gt 0 ]; do
    case "$1" in
        --keep) keep=1 ;;
        --accounts) accounts=$2; shift ;;
        --seconds) seconds=$2; shift ;;
        *) echo "demo.sh: unknown option $1" >&2; exit 2 ;;
    esac
    shift
done

work=$(mktemp -d "${TMPDIR:-/tmp}/tidekeeper-demo.XXXXXX")
pids=()

finish() {
    local code=$?
    trap - EXIT INT TERM
    for pid in "${pids[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
    for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
    if [ "$code" = 0 ]; then rm -rf "$work"
    else echo "Logs are kept in $work" >&2
    fi
    exit "$code"
}
trap finish EXIT
trap 'exit 130' INT TERM

# Waits for the line "listening on URL" in a log and prints the URL.
listening() { # log, pid
    local url
    for _ in $(seq 200); do
        url=$(sed -n 's/^listening on //p' "$1" | head -n 1)
        if [ -n "$url" ]; then echo "$url"; return; fi
        kill -0 "$2" 2>/dev/null || break
        sleep 0.1
    done
    echo "It did not start:" >&2
    tail -n 20 "$1" >&2
    return 1
}

echo "Starting a simulated Google (limits of 2026: 6,000 units per account and minute) ..."
"$build/bin/tidekeeper-google-sim" --listen 127.0.0.1:0 --preset gmail-2026 >"$work/google.log" 2>&1 &
pids+=($!)
google=$(listening "$work/google.log" $!)

(umask 077; printf 'demo-secret' >"$work/client-secret")
cat >"$work/tidekeeper.toml" <<TOML
[google]
oauth_url = "$google"
gmail_url = "$google"
fcm_url = "$google"

[google.projects.default]
project_id = "demo-project"
topic = "projects/demo-project/topics/gmail"

[google.projects.default.clients.default]
client_id = "demo-client"
client_secret_file = "$work/client-secret"
TOML

echo "Starting the engine with a private Redis and SQLite ..."
"$build/bin/tidekeeperd" --config "$work/tidekeeper.toml" --state-dir "$work/state" --listen 127.0.0.1:0 \
    >"$work/engine.log" 2>&1 &
pids+=($!)
engine=$(listening "$work/engine.log" $!)

tidekeeper() { "$build/bin/tidekeeper" --url "$engine" --token-file "$work/state/admin.token" "$@"; }

code=0
"$build/bin/tidekeeper-demo" --engine "$engine" --token-file "$work/state/admin.token" --sim "$google" \
    --accounts "$accounts" --seconds "$seconds" || code=$?

for command in status plugins "buckets --limit 3"; do
    printf '\n$ tidekeeper %s\n' "$command"
    tidekeeper $command || code=$? # words of a command
done

if [ "$keep" = 1 ]; then
    printf '\nStill running; end with Ctrl+C.\n  engine  %s\n  token   %s\n  google  %s/sim/state\n' \
        "$engine" "$work/state/admin.token" "$google"
    wait
fi
exit "$code"
