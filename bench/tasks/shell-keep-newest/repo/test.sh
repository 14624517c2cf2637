#!/bin/sh
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for name in "2024-01 full.tar" "2024-02 full.tar" "2024-03 full.tar"; do
    : > "$folder/$name"
done
sh ./rotate.sh "$folder" 1
left=$(ls "$folder")
[ "$left" = "2024-03 full.tar" ] || { echo "left: $left"; exit 1; }
echo ok
