/** Entries of the audit log, the latest first: those of everything in steps backwards, those of a thread all at once. */

import { useCallback, useEffect, useRef, useState } from "react";
import { api, Failure } from "../api/client";
import type { AuditEntry, AuditPage } from "../api/contract";

/** Entries looked at in one step backwards. */
const STEP = 200;
/** The most that the server gives at once, and how often a thread's are asked for. */
const MOST = 1000;
const TIMES = 20;

type Ask = (after: number, limit: number, thread: string) => Promise<AuditPage>;

export interface Part {
  /** The latest first. */
  entries: AuditEntry[];
  /** Entries up to this number have not been looked at; none when 0. */
  before: number;
}

/** The next entries backwards from `before`, or from the end of the log. Others' entries are not shown: then further back is looked. */
export async function readBack(before: number | null, ask: Ask): Promise<Part> {
  let end = before ?? (await ask(0, 1, "")).head?.seq ?? 0;
  let entries: AuditEntry[] = [];
  for (let times = 0; end > 0 && entries.length === 0 && times < TIMES; times++) {
    const from = Math.max(0, end - STEP);
    const last = end;
    entries = (await ask(from, STEP, "")).entries.filter((entry) => entry.seq <= last);
    end = from;
  }
  return { entries: entries.reverse(), before: end };
}

/** Everything about one thread. */
export async function readThread(thread: string, ask: Ask): Promise<Part> {
  const entries: AuditEntry[] = [];
  for (let times = 0; times < TIMES; times++) {
    const page = await ask(entries.at(-1)?.seq ?? 0, MOST, thread);
    entries.push(...page.entries);
    if (page.entries.length < MOST) break;
  }
  return { entries: entries.reverse(), before: 0 };
}

export interface AuditLog {
  /** Nothing until the first answer. */
  entries: AuditEntry[] | null;
  more: (() => void) | null;
  error: unknown;
  again: () => void;
}

/** The log of one thread, or of everything when `thread` is empty. */
export function useAuditLog(thread: string): AuditLog {
  const [part, setPart] = useState<Part | null>(null);
  const [error, setError] = useState<unknown>(null);
  const asked = useRef(0);
  const load = useCallback(
    async (known: Part | null) => {
      const mine = ++asked.current;
      try {
        const found = await (thread ? readThread(thread, api.audit) : readBack(known?.before ?? null, api.audit));
        if (mine !== asked.current) return;
        setPart(known ? { ...found, entries: [...known.entries, ...found.entries] } : found);
        setError(null);
      } catch (failure) {
        if (mine !== asked.current) return;
        // Half a name is no mistake: there is just nothing under it.
        const nobody = thread !== "" && failure instanceof Failure && [400, 404, 422].includes(failure.status);
        if (nobody) setPart({ entries: [], before: 0 });
        setError(nobody ? null : failure);
      }
    },
    [thread],
  );
  useEffect(() => {
    const timer = setTimeout(() => void load(null), thread ? 300 : 0);
    return () => clearTimeout(timer);
  }, [load, thread]);
  return {
    entries: part?.entries ?? null,
    more: part && part.before > 0 ? () => void load(part) : null,
    error,
    again: () => void load(null),
  };
}
