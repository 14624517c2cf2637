/** The branches of a conversation as people see them: at each message the ways it was said, and the tree of all. */

import type { Thread } from "../api/contract";

/** One way in which a message was said. */
export interface Version {
  /** The thread to go to for it: of those that share this way, the one in which something happened last. */
  thread: string;
  current: boolean;
}

/** A branch in the tree. */
export interface Limb {
  thread: Thread;
  depth: number;
}

type Known = Map<string, Thread>;

const known = (family: readonly Thread[]): Known => new Map(family.map((thread) => [thread.id, thread]));

/** The thread that a turn was first said in. */
function owner(threads: Known, thread: Thread, turn: number): Thread {
  let at = thread;
  for (let steps = 0; at.branch !== null && at.branch.turn > turn && steps < threads.size; steps++) {
    const parent = threads.get(at.branch.thread);
    // Its origin is gone: from here on it is its own.
    if (!parent) return at;
    at = parent;
  }
  return at;
}

/** The ways in which a turn was said after the same words before, the oldest first; nothing where there is one. */
export function versions(family: readonly Thread[], id: string, turn: number): Version[] {
  const threads = known(family);
  const here = threads.get(id);
  if (!here || family.length < 2) return [];
  const before = turn > 1 ? owner(threads, here, turn - 1).id : null;
  const own = owner(threads, here, turn).id;
  const ways = new Map<string, Thread[]>();
  for (const other of [...family].sort((a, b) => a.created_at.localeCompare(b.created_at))) {
    if (other.turns_count < turn || (before !== null && owner(threads, other, turn - 1).id !== before)) continue;
    const way = owner(threads, other, turn).id;
    ways.set(way, [...(ways.get(way) ?? []), other]);
  }
  if (ways.size < 2) return [];
  return [...ways].map(([way, those]) => ({
    thread: way === own ? id : (those.sort((a, b) => b.updated_at.localeCompare(a.updated_at))[0]?.id ?? way),
    current: way === own,
  }));
}

/** The tree in the order in which it is read: each branch below the one it comes from. */
export function tree(family: readonly Thread[]): Limb[] {
  const threads = known(family);
  const limbs: Limb[] = [];
  const add = (thread: Thread, depth: number) => {
    if (limbs.some((limb) => limb.thread.id === thread.id)) return;
    limbs.push({ thread, depth });
    for (const other of family) if (other.branch?.thread === thread.id) add(other, depth + 1);
  };
  for (const thread of family) if (thread.branch === null || !threads.has(thread.branch.thread)) add(thread, 0);
  // What only names itself in a circle is shown all the same.
  for (const thread of family) add(thread, 0);
  return limbs;
}
