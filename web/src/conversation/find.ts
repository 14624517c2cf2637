/** Words in the conversation in view: the rows that have them. */

import type { Entry } from "./view";

/** What is looked through of a row. */
export function textOf(entry: Entry): string {
  switch (entry.kind) {
    case "said":
    case "answer":
    case "thought":
    case "note":
    case "trouble":
      return entry.text;
    case "tool":
      return [entry.tool, entry.summary, entry.result, entry.output, entry.outputEnd, entry.diff].join("\n");
    case "asked":
      return [...(entry.interrupt.questions ?? []).map((question) => question.question), ...(entry.answers ?? [])].join("\n");
  }
}

/** The places of the rows that have these words, whatever the case of their letters. */
export function rowsWith(entries: readonly Entry[], words: string): number[] {
  const wanted = words.trim().toLowerCase();
  if (wanted === "") return [];
  const places: number[] = [];
  entries.forEach((entry, at) => {
    if (textOf(entry).toLowerCase().includes(wanted)) places.push(at);
  });
  return places;
}

/** The row to begin with: the first of a turn, or the last of all. */
export function nearest(entries: readonly Entry[], places: readonly number[], turn: number): number {
  const at = places.findIndex((place) => (entries[place]?.turn ?? 0) >= turn);
  return turn > 0 && at >= 0 ? at : places.length - 1;
}
