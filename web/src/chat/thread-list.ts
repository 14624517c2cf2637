/** The threads as far as somebody asked for them; reading them again shows as many as before. */

import { useCallback, useEffect, useRef, useState } from "react";
import { api } from "../api/client";
import type { Thread } from "../api/contract";

/** Shown at first, and more with every request. */
const PAGE = 50;
/** The most that the server gives at once. */
const MOST = 200;

interface Known {
  threads: Thread[];
  next: string | null;
}

/** The first `count` threads, and where the rest begins. */
export async function readThreads(count: number, ask: typeof api.threads = api.threads): Promise<Known> {
  const threads = new Map<string, Thread>();
  let next: string | null = null;
  for (let wanted = count; wanted > 0; wanted -= MOST) {
    const page: Known = await ask(Math.min(MOST, wanted), next ?? undefined);
    // One that moved up meanwhile may come twice.
    for (const thread of page.threads) if (!threads.has(thread.id)) threads.set(thread.id, thread);
    next = page.next;
    if (next === null) break;
  }
  return { threads: [...threads.values()], next };
}

export interface ThreadList extends Known {
  reload: () => void;
  more: () => void;
  /** Archived threads are shown instead of the others. */
  archived: boolean;
  showArchived: (only: boolean) => void;
}

/** Calls back with what went wrong, and with null when it works again. */
export function useThreads(onFailure: (failure: unknown) => void): ThreadList {
  const [known, setKnown] = useState<Known>({ threads: [], next: null });
  const wanted = useRef(PAGE);
  const asked = useRef(0);
  const shown = useRef<"active" | "archived">("active");
  const [archived, setArchived] = useState(false);
  const report = useRef(onFailure);
  report.current = onFailure;
  const reload = useCallback(() => {
    const mine = ++asked.current;
    const list = shown.current === "archived";
    // Pinned ones are few, and always there.
    const pinned = list ? Promise.resolve({ threads: [] }) : api.threads(MOST, undefined, false, true);
    Promise.all([pinned, readThreads(wanted.current, (limit, before) => api.threads(limit, before, list))]).then(
      ([top, found]) => {
        if (mine !== asked.current) return;
        setKnown({ threads: [...top.threads, ...found.threads], next: found.next });
        report.current(null);
      },
      (failure: unknown) => mine === asked.current && report.current(failure),
    );
  }, []);
  const more = useCallback(() => {
    wanted.current += PAGE;
    reload();
  }, [reload]);
  useEffect(() => {
    const focus = () => document.visibilityState === "visible" && reload();
    document.addEventListener("visibilitychange", focus);
    return () => document.removeEventListener("visibilitychange", focus);
  }, [reload]);
  const showArchived = useCallback(
    (only: boolean) => {
      shown.current = only ? "archived" : "active";
      wanted.current = PAGE;
      setArchived(only);
      reload();
    },
    [reload],
  );
  return { ...known, reload, more, archived, showArchived };
}
