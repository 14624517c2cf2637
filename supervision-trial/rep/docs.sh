#!/bin/sh
# usage: docs.sh LEVEL [GOAL] ; the asked-for check is red at the end, the goal wants it green
HOLON=${HOLON:-holon}; d=$(mktemp -d ./rep/tmp.XXXXXX); export HOME=$d/home XDG_STATE_HOME=$d/state XDG_CONFIG_HOME=$d/conf XDG_CACHE_HOME=$d/cache; mkdir -p $d/w $d/home; cd $d/w
printf '# Demo\n\nInstal with make.\n' > README.md; printf "grep -q '^## Usage' README.md && echo ok usage || { echo 'not ok usage'; exit 1; }\n" > docs-check.sh; git init -q; git add -A; git -c user.name=A -c user.email=a@e commit -qm s
printf -- '- tool: edit_file\n  args: { path: README.md, old: "Instal ", new: "Install " }\n' > ../c.yaml; for i in 1 2 3 4; do printf -- '- tool: finish\n  args: { summary: "The README is in order." }\n' >> ../c.yaml; done
PATH=/usr/local/bin:/usr/bin:/bin "$HOLON" run --goal "${2:-Bring die README in Ordnung, die Prüfung soll am Ende durchlaufen.}" --check 'sh docs-check.sh' --supervisor $1 --replay ../c.yaml; echo "exit $?"; "$HOLON" runs apply last; echo "apply $?"
cd /; chmod -R u+rwX $d; rm -rf $d
