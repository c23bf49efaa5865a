#!/bin/sh
# Fetch what tests compare tocsin with and PyPI does not have: Lucene, from Debian's packages, and the published cases of
# JSON Logic, which an old version of an npm package has, and json-rules-engine. Where they cannot be fetched the tests
# say that they were skipped, unless CI is set.
set -eu

cases=json-logic-engine@1.2.10
engine=json-rules-engine@7.3.1
folder=build/oracles

if ! ls /usr/share/java/lucene-core-8*.jar >/dev/null 2>&1; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        echo "Installing Lucene, which tests of Elasticsearch's queries compare with" >&2
        apt-get update -qq >/dev/null 2>&1 || true
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends liblucene8-java >/dev/null ||
            echo "Debian's packages cannot be reached" >&2
    else
        echo "There is no Lucene here. On Debian or Ubuntu: sudo apt-get install liblucene8-java" >&2
    fi
fi
if [ ! -e "$folder/json-logic-engine-1.2.10.tgz" ]; then
    if command -v npm >/dev/null 2>&1; then
        mkdir -p "$folder"
        npm pack --silent --pack-destination "$folder" "$cases" >/dev/null || echo "npm has no $cases here" >&2
    else
        echo "There is no npm here, so the published cases of JSON Logic are not run" >&2
    fi
fi
if [ ! -e "$folder/json-rules-engine/node_modules" ] && command -v npm >/dev/null 2>&1; then
    mkdir -p "$folder/json-rules-engine"
    npm install --silent --no-audit --no-fund --prefix "$folder/json-rules-engine" "$engine" >/dev/null ||
        echo "npm has no $engine here" >&2
fi
