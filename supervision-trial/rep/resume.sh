#!/bin/sh
HOLON=${HOLON:-holon}; d=$(mktemp -d ./rep/tmp.XXXXXX); export HOME=$d/home XDG_STATE_HOME=$d/state XDG_CONFIG_HOME=$d/conf XDG_CACHE_HOME=$d/cache; mkdir -p $d/w $d/home; cd $d/w
printf 'echo ab\n' > slug.sh; echo '[ "$(sh slug.sh)" = abc ] && echo ok || { echo "FAIL slug"; exit 1; }' > test.sh; git init -q; git add -A; git -c user.name=A -c user.email=a@e commit -qm s
for i in $(seq 40); do printf -- '- tool: execute\n  args: { command: "sh test.sh" }\n' >> ../c.yaml; done
printf -- '- tool: execute\n  args: { command: "sh test.sh" }\n- tool: edit_file\n  args: { path: slug.sh, old: "ab", new: "abc" }\n- tool: execute\n  args: { command: "sh test.sh" }\n- tool: finish\n  args: { summary: "Fixed." }\n' > ../d.yaml
PATH=/usr/local/bin:/usr/bin:/bin; "$HOLON" run --goal 'Fix slug.sh so that test.sh passes.' --check 'sh test.sh' --supervisor $1 --replay ../c.yaml --quiet; echo "exit $?"; cat $XDG_STATE_HOME/holon/*/runs/*/output/summary.md; "$HOLON" runs apply last; echo "apply $?"
"$HOLON" run --resume last --message "It must print abc." --replay ../d.yaml; echo "exit $?"; "$HOLON" runs show last --supervisor; "$HOLON" runs verify --all
cd /; chmod -R u+rwX $d; rm -rf $d
