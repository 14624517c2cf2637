#!/bin/sh
# rotate.sh FOLDER N: keeps the N *.tar files whose names sort last and removes the others.
set -eu
folder=$1
keep=$2
count=0
for path in "$folder"/*.tar; do
    [ -e "$path" ] && count=$((count + 1))
done
remove=$((count - keep))
for path in "$folder"/*.tar; do
    [ "$remove" -gt 0 ] || break
    rm -- "$path"
    remove=$((remove - 1))
done
