#!/bin/sh
# The tests of slug.sh: one line each, exit 1 when one fails.
failed=0
check() {
  got=$(sh slug.sh "$1")
  if [ "$got" = "$2" ]; then
    echo "ok      \"$1\" is $got"
  else
    echo "FAILED  \"$1\" is $got, expected $2"
    failed=1
  fi
}
check "Hello World" "hello-world"
check "Hello, World!" "hello-world"
check "2 + 2 = 4" "2-2-4"
exit $failed
