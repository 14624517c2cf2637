/** Why a call was made, asked about or refused, in the reader's language: by the rule behind it, whose words are few. */

import type { Word } from "../api/contract";
import { fill, type Speech } from "../i18n/language";

export interface Why {
  text: string;
  /** What the server said about it, where that names something and is in another language. */
  detail: string | null;
}

interface Decided {
  tool: string;
  decision: Word;
  rule: string;
  reason: string;
}

/** Rules whose reason says more than that they hold. */
const OPEN = new Set(["arguments", "command_unclear", "supervisor"]);

/** The reasons are English; they come first for whoever reads that, and for rules nobody knows. */
export function why({ language, known }: Pick<Speech, "language" | "known">, { tool, decision, rule, reason }: Decided): Why {
  const kind = kindOf(rule, decision);
  const own = known("why", kind);
  if (own === null || (language === "en" && reason !== "")) return { text: reason, detail: null };
  // A person's own words follow the colon.
  const words = kind === "person_no" ? reason.split(": ").slice(1).join(": ") : "";
  const text = fill(own, { tool: tool.replaceAll("`", "") }) + (words && `：${words}`);
  return { text, detail: OPEN.has(kind) && reason !== "" ? reason : null };
}

function kindOf(rule: string, decision: Word): string {
  if (rule.startsWith("tools.") || rule.startsWith("class ")) return decision;
  if (rule.startsWith("commands.deny ")) return "command_never";
  if (rule === "commands.allow") return "command_unlisted";
  if (rule === "commands") return "command_unclear";
  if (rule === "person") return decision === "allow" ? "person_yes" : "person_no";
  return rule.replaceAll(" ", "_");
}
