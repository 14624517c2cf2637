#!/bin/sh
# bump.sh PART VERSION: prints the next version.
part=$1
IFS=. read -r major minor patch <<END
$2
END
case $part in
    major) major=$((major + 1)) ;;
    minor) minor=$((minor + 1)) ;;
    *) patch=$((patch + 1)) ;;
esac
echo "$major.$minor.$patch"
