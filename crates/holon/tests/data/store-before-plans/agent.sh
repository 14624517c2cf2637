#!/bin/sh
out=/holon/output
case "$HOLON_MODE" in
plan)
    printf '# Goal\nChange a.\n# Context\nA file.\n# Steps\n1. Append.\n# Risks\nNone.\n# Verification\nLook.\n' > $out/plan.md
    echo '{"steps":[{"id":"1","title":"Append"}]}' > $out/plan.json ;;
execute)
    echo changed >> a.txt
    echo "# Done" > $out/summary.md ;;
esac
