#!/bin/sh
# A scripted agent for execute mode: carries the plan out and tests it.
echo "following $(basename "$(find "$HOLON_INPUT_DIR/context" -name plan.md)")"
cat > slug.sh <<'END'
#!/bin/sh
# Turns a title into the last part of a web address.
printf '%s' "$*" | tr '[:upper:]' '[:lower:]' | tr -cs 'a-z0-9' '-' | sed 's/^-//; s/-$//'
echo
END
sh test.sh
cat > "$HOLON_OUTPUT_DIR/summary.md" <<'END'
# Summary

`slug.sh` squeezes runs of other characters into one dash and cuts dashes off both ends. All tests pass.
END
