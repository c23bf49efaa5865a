#!/bin/sh
# Fetch what tests compare tocsin with and PyPI does not have: the published cases of JSON Logic, which an old version of
# an npm package has. Where they cannot be fetched the tests say that they were skipped, unless CI is set.
set -eu

cases=json-logic-engine@1.2.10
folder=build/oracles

if [ ! -e "$folder/json-logic-engine-1.2.10.tgz" ]; then
    if command -v npm >/dev/null 2>&1; then
        mkdir -p "$folder"
        npm pack --silent --pack-destination "$folder" "$cases" >/dev/null || echo "npm has no $cases here" >&2
    else
        echo "There is no npm here, so the published cases of JSON Logic are not run" >&2
    fi
fi
