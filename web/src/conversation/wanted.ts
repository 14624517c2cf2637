/** What somebody wants to see in a thread that they are about to open. */

export interface Wanted {
  thread: string;
  turn: number;
  words: string;
}

let wanted: Wanted | null = null;
const listeners = new Set<() => void>();

export function lookFor(what: Wanted): void {
  wanted = what;
  for (const listener of listeners) listener();
}

/** Gives it once. */
export function takeWanted(thread: string): Wanted | null {
  if (wanted?.thread !== thread) return null;
  const found = wanted;
  wanted = null;
  return found;
}

export function onWanted(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
