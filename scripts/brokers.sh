#!/bin/sh
# Install the brokers that tests of deliveries run and PyPI does not have: Mosquitto, from Debian's packages. Where it
# cannot be installed the tests say that they were skipped, unless CI is set.
set -eu

if ! PATH="$PATH:/usr/sbin" command -v mosquitto >/dev/null 2>&1; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        echo "Installing Mosquitto, which tests of MQTT run" >&2
        apt-get update -qq >/dev/null 2>&1 || true
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends mosquitto >/dev/null ||
            echo "Debian's packages cannot be reached" >&2
    else
        echo "There is no Mosquitto here. On Debian or Ubuntu: sudo apt-get install mosquitto" >&2
    fi
fi
