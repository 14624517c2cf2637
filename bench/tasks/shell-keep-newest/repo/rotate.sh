#!/bin/sh
# rotate.sh FOLDER N: keeps the N *.tar files whose names sort last and removes the others.
set -eu
folder=$1
keep=$2
count=$(ls $folder | grep -c '\.tar$' || true)
remove=$((count - keep))
for name in $(ls $folder | grep '\.tar$' | sort); do
    [ "$remove" -gt 0 ] || break
    rm $folder/$name
    remove=$((remove - 1))
done
