/** Text of others as it really is: colour codes removed, characters that hide or reorder others shown by their number. */

const COLOURS = /\u001b\[[0-9;:?]*[ -/]*[@-~]/g;
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;

export function visible(text: string): string {
  return text.replace(COLOURS, "").replace(HIDDEN, (char) => `⟨U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}
