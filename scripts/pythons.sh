#!/bin/sh
# Test tocsin on further Pythons, each in an environment of its own: tests/test_everywhere.py.
# Usage: pythons.sh [PYTHON ...]     default: every Python from 3.11 on that pyenv or PATH has, but that of `make test`
# CONSTRAINT names a file of versions; without one pip takes the newest that pyproject.toml allows.
set -eu
cd "$(dirname "$0")/.."
own=$(.venv/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || echo none)

candidates() {
    ! command -v pyenv >/dev/null 2>&1 || ls -d "$(pyenv root)"/versions/3.*/bin/python
    for minor in 11 12 13 14; do
        command -v "python3.$minor" || true
    done
}

others() {
    seen=" $own "
    for python in $(candidates); do
        version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || continue
        case $version in 3.[0-9] | 3.10) continue ;; esac
        case $seen in *" $version "*) continue ;; esac
        seen="$seen$version "
        echo "$python"
    done
}

[ $# -gt 0 ] || set -- $(others)
[ $# -gt 0 ] || echo "There is no further Python here; pyenv installs some" >&2
for python; do
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    venv=.venv-$version${CONSTRAINT:+-$(basename "$CONSTRAINT" .txt)}
    echo "Python $version in $venv" >&2
    "$python" -m venv "$venv"
    "$venv/bin/python" scripts/install.py ${CONSTRAINT:+--constraint "$CONSTRAINT"} --editable ".[geo,regex]" pytest hypothesis
    "$venv/bin/python" -m pip list --disable-pip-version-check 2>/dev/null | grep -E '^(numpy|numba|pyarrow|lark|tqdm) ' >&2
    "$venv/bin/python" -m pytest -q -p no:cacheprovider tests/test_everywhere.py
done
