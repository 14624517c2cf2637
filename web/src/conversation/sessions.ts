/** The sessions the page keeps: the one in view, those still running, and a few recent ones. */

import { Session } from "./session";

const KEPT = 6;
const sessions = new Map<string, Session>();

export function sessionOf(id: string, onNews: () => void): Session {
  const known = sessions.get(id);
  if (known) {
    // The newest is the last.
    sessions.delete(id);
    sessions.set(id, known);
    return known;
  }
  const session = new Session(id, onNews);
  sessions.set(id, session);
  for (const [other, old] of sessions) {
    if (sessions.size <= KEPT) break;
    if (other === id || old.snapshot().busy) continue;
    old.close();
    sessions.delete(other);
  }
  return session;
}

/** It moved on in another tab: one that is kept here reads on. */
export function wake(id: string): void {
  const session = sessions.get(id);
  if (session && !session.following) void session.refresh();
}

export function forget(id: string): void {
  sessions.get(id)?.close();
  sessions.delete(id);
}
