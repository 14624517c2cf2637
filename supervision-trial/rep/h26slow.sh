#!/bin/sh
# usage: h26.sh LEVEL ; a healthy agent in a repository that was red before
HOLON=${HOLON:-holon}; d=$(mktemp -d ./rep/tmp.XXXXXX); export HOME=$d/home XDG_STATE_HOME=$d/state XDG_CONFIG_HOME=$d/conf XDG_CACHE_HOME=$d/cache; mkdir -p $d/w/shop $d/w/tests $d/home; cd $d/w
printf 'def total(items):\n    return sum(items)\n' > shop/cart.py; : > shop/__init__.py
printf "def test_online():\n    raise OSError('no network')\ndef test_printer():\n    raise OSError('no printer')\n" > tests/test_net.py
printf "import sys; sys.path.insert(0, '.')\nfrom shop.cart import total\ndef test_total():\n    assert total([1, 2]) == 3\n" > tests/test_cart.py
git init -q; git add -A; git -c user.name=A -c user.email=a@e commit -qm s
cat > ../c.yaml <<'E2'
- tool: read_file
  args: { path: shop/cart.py }
- tool: execute
  args: { command: "printf '\\n\\ndef avg(items):\\n    return total(items) / len(items)\\n' >> shop/cart.py" }
- tool: execute
  args: { command: "python3 -m pytest -q" }
- tool: execute
  args: { command: "sleep 15" }
- tool: finish
  args: { summary: "Added avg." }
- tool: finish
  args: { summary: "Added avg. The two that fail did before." }
E2
PATH=/usr/local/bin:/usr/bin:/bin "$HOLON" run --goal 'Add `avg(items)` to shop/cart.py.' --check 'python3 -m pytest -q' --supervisor $1 --replay ../c.yaml; echo "exit $?"
cd /; chmod -R u+rwX $d; rm -rf $d
