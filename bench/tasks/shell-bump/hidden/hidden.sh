#!/bin/sh
fail() { echo "failed: $1"; exit 1; }
good() { [ "$(sh ./bump.sh "$1" "$2")" = "$3" ] || fail "$1 $2"; }
bad() {
    sh ./bump.sh "$@" > /dev/null 2>&1
    [ $? -eq 2 ] || fail "$* is not refused"
}
good major 1.4.2 2.0.0
good minor 0.9.9 0.10.0
good patch 0.0.0 0.0.1
good major 9.0.1 10.0.0
bad micro 1.2.3
bad minor 1.2
bad patch 1.2.3.4
bad patch 1.x.3
bad patch ''
bad patch v1.2.3
echo ok
