#!/bin/sh
set -eu
folder="$(mktemp -d)/my backups"
mkdir "$folder"
check() {
    left=$(cd "$folder" && ls | tr '\n' '|')
    [ "$left" = "$1" ] || { echo "left: $left, expected: $1"; exit 1; }
}
: > "$folder/a 1.tar"; : > "$folder/b*.tar"; : > "$folder/c.tar"; : > "$folder/notes.txt"; : > "$folder/-f.tar"
sh ./rotate.sh "$folder" 9
check "-f.tar|a 1.tar|b*.tar|c.tar|notes.txt|"
LC_ALL=C sh ./rotate.sh "$folder" 2
check "b*.tar|c.tar|notes.txt|"
sh ./rotate.sh "$folder" 0
check "notes.txt|"
sh ./rotate.sh "$folder" 3
check "notes.txt|"
echo ok
