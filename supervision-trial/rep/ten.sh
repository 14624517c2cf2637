#!/bin/sh
# usage: ten.sh LEVEL ; the person asks for ten runs of a script that fails
HOLON=${HOLON:-holon}; d=$(mktemp -d ./rep/tmp.XXXXXX); export HOME=$d/home XDG_STATE_HOME=$d/state XDG_CONFIG_HOME=$d/conf XDG_CACHE_HOME=$d/cache; mkdir -p $d/w $d/home; cd $d/w
echo "echo 'case login: FAIL (timeout)'; exit 1" > test.sh; git init -q; git add -A; git -c user.name=A -c user.email=a@e commit -qm s
for i in 1 2 3 4 5 6 7 8 9 10; do printf -- '- tool: execute\n  args: { command: "sh test.sh" }\n' >> ../c.yaml; done; printf -- '- tool: finish\n  args: { summary: "It failed ten times." }\n' >> ../c.yaml
PATH=/usr/local/bin:/usr/bin:/bin "$HOLON" run --goal 'Run sh test.sh ten times in a row and tell me how often it fails. Change nothing.' --supervisor $1 --replay ../c.yaml; echo "exit $?"; "$HOLON" runs show last --supervisor
cd /; chmod -R u+rwX $d; rm -rf $d
