#!/bin/sh
# A scripted agent for plan mode: looks at the code, runs the test, writes the plan down.
echo "reading slug.sh and running the test"
sh test.sh | grep FAILED
cat > "$HOLON_OUTPUT_DIR/plan.md" <<'END'
# Collapse repeated dashes

## Goal
`slug.sh` gives `hello--world-` for "Hello, World!". It should give `hello-world`.

## Context
`tr -c` turns every character that is not a letter or a digit into a dash of its own, also at both ends.

## Steps
1. Squeeze runs of dashes with `tr -cs`.
2. Cut one dash off the beginning and the end.

## Risks
A title without letters and digits becomes an empty line, where it was dashes before.

## Verification
`sh test.sh` passes.
END
cat > "$HOLON_OUTPUT_DIR/plan.json" <<'END'
{
  "steps": [
    { "id": "squeeze", "title": "Squeeze runs of dashes", "files": ["slug.sh"], "checks": ["sh test.sh"], "depends_on": [] },
    { "id": "trim", "title": "Cut dashes off both ends", "files": ["slug.sh"], "checks": ["sh test.sh"], "depends_on": ["squeeze"] }
  ],
  "risks": ["A title without letters and digits becomes an empty line"],
  "acceptance": ["sh test.sh exits with 0"]
}
END
