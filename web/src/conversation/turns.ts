/** The turns of a thread as far as they are known: a long one is not read whole after every turn. */

import type { Turn } from "../api/contract";

/** The number from which on turns may have changed by saying something: the last known one, which may have been waiting. */
export function since(known: Turn[]): number {
  return known.at(-1)?.number ?? 1;
}

/** What is known, with what was read from a number on in place of what was known from there. */
export function joined(known: Turn[], from: number, read: Turn[]): Turn[] {
  return [...known.filter((turn) => turn.number < from), ...read];
}
