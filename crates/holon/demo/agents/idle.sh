#!/bin/sh
# A scripted agent that changes nothing: it is there so that the host runs the checks.
echo "# Summary" > "$HOLON_OUTPUT_DIR/summary.md"
echo "Nothing was changed." >> "$HOLON_OUTPUT_DIR/summary.md"
