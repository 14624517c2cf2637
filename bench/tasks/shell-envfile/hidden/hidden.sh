#!/bin/sh
file=$(mktemp)
trap 'rm -f "$file"' EXIT
cat > "$file" <<'END'
# TOKEN=comment
A=1
A=2
EQ===
EMPTY=
SINGLE='it is = fine'
BACK=a\nb
SPACES="  two  "
HALF="open
END
fail() { echo "failed: $1"; exit 1; }
check() { [ "$(sh ./getenv.sh "$file" "$1")" = "$2" ] || fail "$1"; }
check A 2
check EQ '=='
check EMPTY ''
sh ./getenv.sh "$file" EMPTY > /dev/null || fail "EMPTY is there"
check SINGLE 'it is = fine'
check BACK 'a\nb'
check SPACES '  two  '
check HALF '"open'
sh ./getenv.sh "$file" TOKEN > /dev/null && fail "a comment is no value"
sh ./getenv.sh "$file" MISSING > /dev/null && fail "missing"
echo ok
