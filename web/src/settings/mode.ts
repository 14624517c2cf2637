/** Plan or build: kept in the browser, sent with every message. */

import { useSyncExternalStore } from "react";
import type { Mode } from "../api/contract";
import { recall, remember } from "./storage";

const KEY = "agent_mode";

export function readMode(stored: string | null): Mode {
  return stored === "plan" ? "plan" : "build";
}

let current: Mode | null = null;
const listeners = new Set<() => void>();

function get(): Mode {
  current ??= readMode(recall(KEY));
  return current;
}

function change(mode: Mode): void {
  current = mode;
  for (const listener of listeners) listener();
}

export function setMode(mode: Mode): void {
  remember(KEY, mode);
  change(mode);
}

function subscribe(listener: () => void): () => void {
  const otherTab = (event: StorageEvent) => {
    if (event.key === KEY) change(readMode(event.newValue));
  };
  listeners.add(listener);
  addEventListener("storage", otherTab);
  return () => {
    listeners.delete(listener);
    removeEventListener("storage", otherTab);
  };
}

/** The chosen mode, the same everywhere on the page and in other tabs. */
export function useMode(): [Mode, (mode: Mode) => void] {
  return [useSyncExternalStore(subscribe, get), setMode];
}
