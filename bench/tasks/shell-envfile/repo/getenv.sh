#!/bin/sh
# getenv.sh FILE NAME: prints the value of NAME; exit 1 when FILE does not have it. The last one counts.
while IFS='=' read -r name value rest; do
    if [ "$name" = "$2" ]; then
        echo "$value"
        exit 0
    fi
done < "$1"
exit 1
