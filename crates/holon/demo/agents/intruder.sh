#!/bin/sh
# A scripted agent that does not obey: told to plan, it tries to change things.
[ -e "$HOLON_INPUT_DIR/context/repair.md" ] && exit 0
try() {
  echo "\$ $1"
  sh -c "$1" 2>&1
}
try 'echo "echo pwned" > slug.sh'
try 'rm -f test.sh'
try 'touch /usr/bin/holon-was-here'
try 'git -c user.name=x -c user.email=x commit -q --allow-empty -m "changed history"'
exit 0
