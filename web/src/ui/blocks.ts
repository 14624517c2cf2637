/** A Markdown text in parts that can be rendered each by itself, so that what comes at its end costs nothing of what stands before. */

export interface Block {
  /** Where it begins in the text; its name for as long as the text only grows. */
  at: number;
  kind: "words" | "fence";
  text: string;
  /** Of a fence: what stands behind its beginning. */
  info: string;
  /** Nothing that comes later belongs to it. */
  closed: boolean;
}

const FENCE = /^( {0,3})(`{3,}|~{3,})(.*)$/;
const ITEM = /^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)/;

/** The parts of a text, in its order: together they are the text, but for the marks of fences. */
export function blocks(text: string, from = 0): Block[] {
  const found: Block[] = [];
  let begin = from;
  let at = from;
  let blank = false;
  let first = "";
  const words = (end: number, closed: boolean) => {
    if (text.slice(begin, end).trim() !== "") found.push({ at: begin, kind: "words", text: text.slice(begin, end), info: "", closed });
  };
  while (at < text.length) {
    const end = text.indexOf("\n", at);
    const next = end < 0 ? text.length : end + 1;
    const line = text.slice(at, end < 0 ? text.length : end);
    const fence = FENCE.exec(line);
    // Below an item of a list, a fence belongs to it.
    const alone = fence !== null && !(fence[2]?.startsWith("`") && fence[3]?.includes("`")) && (!ITEM.test(first) || fence[1] === "");
    if (alone && end >= 0) {
      words(at, true);
      const read = fenced(text, next, fence?.[2] ?? "```", (fence?.[1] ?? "").length);
      found.push({ at, kind: "fence", text: read.text, info: (fence?.[3] ?? "").trim(), closed: read.closed });
      at = begin = read.next;
      first = "";
      blank = false;
      continue;
    }
    const empty = line.trim() === "";
    if (!empty && blank && !/^\s/.test(line) && !(ITEM.test(first) && ITEM.test(line))) {
      words(at, true);
      begin = at;
      first = line;
    }
    if (first === "" && !empty) first = line;
    blank = empty;
    at = next;
  }
  words(text.length, false);
  return found;
}

/** The same for a text that has grown: what was closed stays as it is. */
export function grown(before: { text: string; blocks: Block[] }, text: string): Block[] {
  if (text === before.text) return before.blocks;
  const last = before.blocks.findLastIndex((block) => !block.closed);
  const keep = text.startsWith(before.text) ? (last < 0 ? before.blocks.length : last) : 0;
  const kept = before.blocks.slice(0, keep);
  const rest = before.blocks[keep];
  const from = rest ? rest.at : keep === 0 ? 0 : before.text.length;
  return [...kept, ...blocks(text, from)];
}

function fenced(text: string, from: number, mark: string, indent: number): { text: string; next: number; closed: boolean } {
  const close = new RegExp(`^ {0,3}\\${mark.charAt(0)}{${mark.length},}[ \\t]*$`);
  const lines: string[] = [];
  for (let at = from; at < text.length; ) {
    const end = text.indexOf("\n", at);
    const line = text.slice(at, end < 0 ? text.length : end);
    // A line without its end may go on.
    if (close.test(line) && end >= 0) return { text: lines.join("\n"), next: end + 1, closed: true };
    if (close.test(line)) return { text: lines.join("\n"), next: text.length, closed: false };
    lines.push(indent > 0 ? line.replace(new RegExp(`^ {0,${indent}}`), "") : line);
    if (end < 0) break;
    at = end + 1;
  }
  return { text: lines.join("\n"), next: text.length, closed: false };
}

/** Definitions of links that any part may name. */
export function definitions(text: string): string {
  if (!text.includes("]:")) return "";
  return text.split("\n").filter((line) => /^ {0,3}\[(?!\^)[^\]]+\]:\s*\S/.test(line)).join("\n");
}

/** Whether parts would lose what the whole says: notes at the foot have one list and one count. */
export function hasNotes(text: string): boolean {
  return text.includes("[^") && /^ {0,3}\[\^[^\]]+\]:/m.test(text);
}
