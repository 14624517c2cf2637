/** What can be done from the keyboard, and which of it words mean. */

export interface Command {
  id: string;
  label: string;
  /** What kind of thing it is, or where it is. */
  hint?: string;
  act: () => void;
}

/** The commands that have all the words, those that begin with the first of them before others; their order stays otherwise. */
export function matching(commands: readonly Command[], words: string): Command[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const text = (command: Command) => `${command.label} ${command.hint ?? ""}`.toLowerCase();
  const found = commands.filter((command) => wanted.every((word) => text(command).includes(word)));
  const first = wanted[0] ?? "";
  const begins = (command: Command) => command.label.toLowerCase().startsWith(first);
  return [...found.filter(begins), ...found.filter((command) => !begins(command))];
}
