#!/bin/sh
# getenv.sh FILE NAME: prints the value of NAME; exit 1 when FILE does not have it. The last one counts.
found=no
while IFS= read -r line || [ -n "$line" ]; do
    case $line in
        "$2="*) value=${line#*=}; found=yes ;;
    esac
done < "$1"
[ "$found" = yes ] || exit 1
case $value in
    \"*\") value=${value#\"}; value=${value%\"} ;;
    \'*\') value=${value#\'}; value=${value%\'} ;;
esac
printf '%s\n' "$value"
