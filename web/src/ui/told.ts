/** What went wrong, in the reader's language: the page speaks by the code, the server's own words stay where they say more. */

import type { Speech } from "../i18n/language";
import { fill } from "../i18n/language";

export interface Told {
  /** The sentence that says it. */
  what: string;
  /** What the server said about it, where that names something and is in another language. */
  detail: string | null;
}

/** The server says these in the language of whoever asked then; they are read by anybody, later. */
const STORED = new Set(["cancelled", "interrupted", "max_iterations", "plan_mode"]);

/** The code says all of it: what the server adds names nothing. */
const WHOLE = new Set([
  ...STORED, "conflict", "method_not_allowed", "no_gate", "not_found", "not_running", "not_stored", "not_taken", "not_waiting", "nothing_to_undo", "secret", "sensitive", "shutting_down",
  "too_large", "too_many", "too_slow", "turn_running", "unauthorized",
]);

/** Words for a code. The server's messages are English; they come first for whoever reads that, and for codes nobody knows. */
export function told(speech: Pick<Speech, "language" | "known">, code: string, message: string, hint?: string): Told {
  return inWords(speech, speech.known("what", code), code, message, hint);
}

/** The same for why a run ended as it did, by the kind of its manifest's error. */
export function caused(speech: Pick<Speech, "language" | "known">, kind: string, message: string, hint?: string): Told {
  // A run has words of its own where a turn's would be wrong, and its manifest is always English.
  return inWords(speech, speech.known("cause", kind) ?? speech.known("what", kind), "", message || kind.replaceAll("_", " "), hint);
}

function inWords({ language }: Pick<Speech, "language">, own: string | null, code: string, message: string, hint?: string): Told {
  const theirs = language === "en" && message !== "" && !STORED.has(code);
  if (own === null || theirs) return { what: message || code.replaceAll("_", " "), detail: null };
  // The only number that matters in them.
  const what = fill(own, { count: /\d+/.exec(message)?.[0] ?? "…" });
  const detail = [message, hint].filter(Boolean).join("; ");
  return { what, detail: WHOLE.has(code) || detail === "" ? null : detail };
}
