#!/bin/sh
# Install Firefox, which the long tests of the console run in, where Debian's packages and the right to install them are.
# Elsewhere the tests say that they were skipped, unless CI is set.
set -eu

for name in firefox-esr firefox; do
    if command -v "$name" >/dev/null 2>&1; then
        exit 0
    fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing Firefox, for the long tests of the console" >&2
    apt-get update -qq >/dev/null 2>&1 || true
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends firefox-esr >/dev/null
else
    echo "There is no Firefox here, so the long tests of the console are skipped. On Debian or Ubuntu: sudo apt-get install firefox-esr" >&2
fi
