#!/bin/sh
file=$(mktemp)
trap 'rm -f "$file"' EXIT
printf 'URL=http://h/?a=1\nNAME="Ann B"\nLAST=yes' > "$file"
fail() { echo "$1"; exit 1; }
[ "$(sh ./getenv.sh "$file" URL)" = 'http://h/?a=1' ] || fail URL
[ "$(sh ./getenv.sh "$file" NAME)" = 'Ann B' ] || fail NAME
[ "$(sh ./getenv.sh "$file" LAST)" = yes ] || fail LAST
echo ok
