#!/bin/sh
# bump.sh PART VERSION: prints the next version.
refuse() {
    echo "bump.sh: $1" >&2
    exit 2
}
part=$1
case $2 in
    *[!0-9.]* | .* | *. | *..* | *.*.*.*) refuse "$2 is no version" ;;
    *.*.*) ;;
    *) refuse "$2 is no version" ;;
esac
IFS=. read -r major minor patch <<END
$2
END
case $part in
    major) major=$((major + 1)) minor=0 patch=0 ;;
    minor) minor=$((minor + 1)) patch=0 ;;
    patch) patch=$((patch + 1)) ;;
    *) refuse "$part is neither major, minor nor patch" ;;
esac
echo "$major.$minor.$patch"
