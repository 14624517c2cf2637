#!/bin/sh
# A scripted agent for review mode: reads the patch and comments on one line of it.
echo "reviewing slug.sh"
cat > "$HOLON_OUTPUT_DIR/review.json" <<'END'
{
  "version": 1,
  "verdict": "approve",
  "findings": [
    {
      "path": "slug.sh",
      "line": 3,
      "side": "new",
      "severity": "nit",
      "category": "correctness",
      "title": "A title without letters and digits gives an empty slug",
      "body": "Callers may want an error instead of an empty line.",
      "confidence": 0.8,
      "snippet": "printf '%s' \"$*\" | tr '[:upper:]' '[:lower:]' | tr -cs 'a-z0-9' '-' | sed 's/^-//; s/-$//'"
    }
  ]
}
END
cat > "$HOLON_OUTPUT_DIR/summary.md" <<'END'
# Review

The change does what the plan says. One remark, nothing that blocks.
END
