#!/bin/sh
# the same with node --test: usage n26.sh LEVEL
HOLON=${HOLON:-holon}; d=$(mktemp -d ./rep/tmp.XXXXXX); export HOME=$d/home XDG_STATE_HOME=$d/state XDG_CONFIG_HOME=$d/conf XDG_CACHE_HOME=$d/cache; mkdir -p $d/w/src $d/w/test $d/home; cd $d/w
echo '{"name":"d","version":"1.0.0","type":"module","scripts":{"test":"node --test"}}' > package.json
echo 'export const total = (a) => a.reduce((x, y) => x + y, 0);' > src/cart.js
printf "import test from 'node:test';\nimport assert from 'node:assert';\nimport { total } from '../src/cart.js';\ntest('total', () => assert.equal(total([1, 2]), 3));\ntest('online', () => { throw new Error('no network'); });\n" > test/cart.test.js
git init -q; git add -A; git -c user.name=A -c user.email=a@e commit -qm s
cat > ../c.yaml <<'E2'
- tool: execute
  args: { command: "npm test" }
- tool: execute
  args: { command: "echo 'export const avg = (a) => total(a) / a.length;' >> src/cart.js" }
- tool: execute
  args: { command: "npm test" }
- tool: finish
  args: { summary: "Added avg." }
- tool: finish
  args: { summary: "Added avg. The one that fails did before." }
E2
PATH=/usr/local/bin:/usr/bin:/bin "$HOLON" run --goal 'Add a function avg to src/cart.js.' --check 'npm test' --supervisor $1 --replay ../c.yaml; echo "exit $?"
cd /; chmod -R u+rwX $d; rm -rf $d
