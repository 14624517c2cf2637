#!/bin/sh
# An agent for execute mode: adds the goal as a line to CHANGELOG.md.
set -eu

# The last heading before the goal is "# Goal"; the goal ends at the next heading.
goal=$(awk '/^# /{found = ($0 == "# Goal"); next} found && NF' "$HOLON_INPUT_DIR/prompts/user.md")

[ -e CHANGELOG.md ] || printf '# Changelog\n\n' > CHANGELOG.md
printf -- '- %s\n' "$goal" >> CHANGELOG.md

printf 'Added to CHANGELOG.md: %s\n' "$goal" > "$HOLON_OUTPUT_DIR/summary.md"
