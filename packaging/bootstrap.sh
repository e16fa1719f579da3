#!/usr/bin/env bash
# The README's two commands, from a bare Debian 12 to a running product:
#
#   packaging/bootstrap.sh demo [--keep]   install what is needed, build, run the main job against the simulator
#   packaging/bootstrap.sh test            install what is needed, build, run every test
#
# TIDEKEEPER_NO_INSTALL=1 skips the installation. Exit code: 0 only when everything passed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build_packages=(
    build-essential cmake ninja-build ccache pkg-config git ca-certificates
    qt6-base-dev qt6-base-dev-tools libqt6sql6-sqlite libqt6sql6-psql qcoro-qt6-dev
    libhiredis-dev libmicrohttpd-dev libspdlog-dev libfmt-dev prometheus-cpp-dev libtomlplusplus-dev
    libcli11-dev libexpected-dev libssl-dev rapidjson-dev libsystemd-dev redis-server
)
# The programs that run together; a user's build makes all.
release_programs=(tidekeeperd tidekeeper tidekeeper-google-sim tidekeeper-demo gmail-quota watch-renewal)
test_packages=(abigail-tools nodejs npm openssl curl jq postgresql procps prometheus python3 python3-redis systemd wrk)

say() { printf '\n== %s\n' "$*"; }

# Bare systems have no sudo and are root; others the reverse.
as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif command -v sudo >/dev/null; then sudo "$@"
    else
        echo "Root is needed for: $*" >&2
        echo "Run it yourself, then run this script again with TIDEKEEPER_NO_INSTALL=1." >&2
        exit 1
    fi
}

# Prints the packages of the list that are not installed. Programs that are already there in another way (a newer
# Node.js, say) are not replaced.
missing_of() {
    local name
    for name in "$@"; do
        case "$name" in
            nodejs) command -v node >/dev/null && continue ;;
            npm) command -v npm >/dev/null && continue ;;
        esac
        dpkg-query -W -f='${db:Status-Status}\n' "$name" 2>/dev/null | grep -qx installed || echo "$name"
    done
}

# Only programs are wanted (redis-server, promtool …), not the services that their packages would start: while a
# policy-rc.d answers 101, none is. One that is there already is the machine's own and stays.
without_services() (
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
        trap 'as_root rm -f "$policy"' EXIT
        as_root sh -c 'printf "#!/bin/sh\nexit 101\n" >"$0" && chmod 755 "$0"' "$policy"
    fi
    as_root "$@"
)

install_packages() {
    [ "${TIDEKEEPER_NO_INSTALL:-0}" = 1 ] && return
    if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
        echo "This script installs on Debian 12 and 13. Elsewhere, install the equivalents of:" >&2
        printf '  %s\n' "$@" >&2
        echo "and run it again with TIDEKEEPER_NO_INSTALL=1." >&2
        exit 1
    fi
    local missing
    mapfile -t missing < <(missing_of "$@")
    [ "${#missing[@]}" = 0 ] && return
    say "Installing ${#missing[@]} packages"
    as_root apt-get update -q
    without_services \
        env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
}

build() { # preset [target…]
    local preset=$1
    shift
    say "Building (preset $preset)"
    cmake --preset "$preset"
    if [ $# = 0 ]; then cmake --build --preset "$preset"
    else cmake --build --preset "$preset" --target "$@"
    fi
}

demo() {
    install_packages "${build_packages[@]}"
    build release
    exec tests/e2e/demo.sh build/release "$@"
}

run_tests() {
    install_packages "${build_packages[@]}" "${test_packages[@]}"
    build ci
    say "Testing under AddressSanitizer and UndefinedBehaviorSanitizer"
    ctest --preset ci
    build release "${release_programs[@]}"
    say "Running the release programs together"
    tests/e2e/demo.sh build/release --accounts 50 --seconds 10
}

case "${1:-}" in
    demo) shift; demo "$@" ;;
    test) shift; run_tests ;;
    *)
        sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
        exit 2
        ;;
esac
