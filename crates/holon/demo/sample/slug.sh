#!/bin/sh
# Turns a title into the last part of a web address.
printf '%s' "$*" | tr '[:upper:]' '[:lower:]' | tr -c 'a-z0-9' '-'
echo
