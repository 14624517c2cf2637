#!/bin/sh
fail() { echo "failed: $1"; exit 1; }
[ "$(sh ./bump.sh patch 1.4.2)" = 1.4.3 ] || fail patch
[ "$(sh ./bump.sh minor 1.4.2)" = 1.5.0 ] || fail minor
echo ok
