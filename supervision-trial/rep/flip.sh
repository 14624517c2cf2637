#!/bin/sh
# usage: flip.sh LEVEL red|green ; an agent that changes one line to and fro and runs the check each time, deaf, 60 rounds
HOLON=${HOLON:-holon}; d=$(mktemp -d ./rep/tmp.XXXXXX); export HOME=$d/home XDG_STATE_HOME=$d/state XDG_CONFIG_HOME=$d/conf XDG_CACHE_HOME=$d/cache; mkdir -p $d/w $d/home; cd $d/w
[ $2 = green ] && want=ab-c || want=ABC
printf '#!/bin/sh\n# one\necho ab-c\n' > slug.sh; echo "[ \"\$(sh slug.sh)\" = $want ] && echo ok || { echo 'FAIL slug'; exit 1; }" > test.sh; git init -q; git add -A; git -c user.name=A -c user.email=a@e commit -qm s
a=one; b=two; for i in $(seq 40); do printf -- '- tool: edit_file\n  args: { path: slug.sh, old: "# %s", new: "# %s" }\n- tool: execute\n  args: { command: "sh test.sh" }\n' $a $b >> ../c.yaml; c=$a; a=$b; b=$c; done
PATH=/usr/local/bin:/usr/bin:/bin "$HOLON" run --goal 'Fix slug.sh so that test.sh passes.' --check 'sh test.sh' --max-rounds 60 --supervisor $1 --replay ../c.yaml; echo "exit $?"; "$HOLON" runs show last --supervisor; grep -rho 'with no file changed in between[^"]*' $XDG_STATE_HOME --include=events.jsonl | sort | uniq -c | head -5
cd /; chmod -R u+rwX $d; rm -rf $d
