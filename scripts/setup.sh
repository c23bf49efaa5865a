#!/bin/sh
# Make a virtual environment and install tocsin into it, editable, with one extra.
# Usage: setup.sh FOLDER EXTRA        PYTHON names the interpreter (default python3).
set -eu
venv=$1
extra=$2
python=${PYTHON:-python3}

say() { printf '%s\n' "$*" >&2; }

command -v "$python" >/dev/null 2>&1 || {
    say "There is no $python here. Install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3"
    exit 1
}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    say "tocsin needs Python 3.11 or newer; $python is $("$python" -V 2>&1). Name another: make PYTHON=/path/to/python3"
    exit 1
}

if [ ! -x "$venv/bin/pip" ]; then
    # Debian and Ubuntu keep what venv needs in a package of its own.
    if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
        version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        package="python$version-venv"
        if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
            say "Installing $package, which Debian keeps apart from Python"
            apt-get update -qq >/dev/null 2>&1 || true
            DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$package" >/dev/null
        else
            say "Python's venv module is incomplete here. On Debian or Ubuntu: sudo apt-get install $package"
            exit 1
        fi
    fi
    say "Making a virtual environment in $venv"
    "$python" -m venv "$venv"
fi

say "Installing tocsin[$extra] into $venv"
"$venv/bin/python" "$(dirname "$0")/install.py" --use-pep517 --constraint constraints.txt --editable ".[$extra]"
