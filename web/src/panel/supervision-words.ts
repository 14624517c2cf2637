/** What the supervisor noticed and did, in the reader's language: one sentence per record, made from its event, reason and payload. */

import type { Recorded } from "../conversation/view";
import { fill, type Speech } from "../i18n/language";
import { visible } from "../ui/visible";

export interface Sentence {
  text: string;
  /** The reason itself, where there are no words for it. */
  reason: string | null;
  /** What the server says besides, which is English. */
  detail: string | null;
}

type Words = Pick<Speech, "known" | "named" | "t">;
type Values = Record<string, string | number>;

/** Longest text of the server that is shown with a sentence. */
const MOST = 240;
/** What was in vain, and how often. */
const FUTILE = /`([^`]+)` failed (\d+) times/;
/** Failing cases named in a sentence. */
const CASES = 5;

export function sentence(words: Words, { record, step }: Recorded): Sentence {
  const { t, named } = words;
  const shadow = record.reason.startsWith("shadow:");
  const reason = shadow ? record.reason.slice("shadow:".length) : record.reason;
  const payload = new Payload(record.payload);
  const said = act(words, shadow ? (OF_SHADOWS.has(reason) ? record.reason : reason) : reason, payload, step);
  const whole = (text: string) => (record.round > 0 ? t("supervisor.round", { round: record.round, text }) : t("supervisor.before", { text }));
  if (said === null) return { text: whole(named("event", record.event)), reason: visible(record.reason), detail: null };
  const text = whole(shadow ? t("supervisor.shadow", { text: said }) : said);
  return { text, reason: null, detail: detail(reason, payload) };
}

/** Records about the steps of the plan, which is drawn elsewhere. */
export function isStep({ record }: Recorded): boolean {
  return record.reason.startsWith("node:");
}

/** Without what a later record of the same round says too, and says better: with what was done about it, or why. */
export function telling(records: readonly Recorded[]): Recorded[] {
  return records.filter(({ record }, at) => {
    const signal = /^drift:(\w+)$/.exec(record.reason)?.[1];
    const says = ({ record: later }: Recorded) =>
      later.round === record.round &&
      (signal === undefined ? later.reason === `recover:${record.reason}` : /^(notice|advice|takeover):/.test(later.reason) && new Payload(later.payload).signals().some((one) => one.name === signal));
    return !records.slice(at + 1).some(says);
  });
}

/** What a shadow does that has no record of its own beside one. */
const OF_SHADOWS = new Set(["gate", "correction", "graph", "check", "stop"]);

/** What was done, and why; nothing where there are no words, or the facts that they need are missing. */
function act(words: Words, reason: string, payload: Payload, step: string | null): string | null {
  const { known, named, t } = words;
  const [family = "", ...rest] = reason.split(":");
  const about = rest.join(":");
  const signal = ["drift", "notice", "advice", "takeover"].includes(family);
  if (signal && known("seen", about) === null) return null;
  const code = signal ? family : reason.replaceAll(":", ".");
  const kind = kindOf(code, payload);
  const own = known("did", `${code}.${kind}`) ?? known("did", code);
  if (own === null) return null;
  const futile = FUTILE.exec(payload.text("why"));
  const [, rounds = "", tokens = ""] = /(\d+) rounds, (\d+) tokens/.exec(payload.text("reason")) ?? [];
  const values: Values = {
    step: step === null ? t("supervisor.aStep") : t("supervisor.step", { name: named("node", step) }),
    tool: payload.code("tool"),
    command: futile ? plain(futile[1] ?? "") : payload.code("command"),
    count: futile?.[2] ?? "",
    cases: visible(payload.list("cases").slice(0, CASES).map(paired).join(", ")),
    progress: payload.number("progress"),
    rounds: payload.number("most_rounds") || rounds,
    tokens,
    facts: facts(words, payload, about) ?? "",
  };
  return holes(own).some((name) => values[name] === "") ? null : fill(own, values);
}

const holes = (text: string): string[] => [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? "");

/** Which of several sentences a record of this kind needs. */
function kindOf(code: string, payload: Payload): string {
  switch (code) {
    case "gate.block":
      return payload.text("rule") === "futile" && !FUTILE.test(payload.text("why")) ? "" : payload.text("rule");
    case "shadow.gate":
      return payload.text("rule") === "verification" ? "done" : payload.text("verdict");
    case "shadow.correction":
      return payload.text("kind");
    case "recover.template_graph":
      return payload.list("cases").length > 0 ? "cases" : "";
    case "recover.strong_hint":
      return ["conflict", "corrupt"].includes(payload.text("git")) ? "unsafe" : "";
    case "verification.unverified":
      return payload.text("stop");
    case "node.budget":
      return payload.text("status");
    default:
      return "";
  }
}

/** What was counted; the reason's own signal where the payload names none. */
function facts({ known, named, t }: Words, payload: Payload, about: string): string | null {
  const signals = payload.signals();
  if (signals.length === 0 && known("seen", about) !== null) signals.push({ name: about, value: "" });
  const told = signals.map(({ name, value }) => {
    const own = known("seen", name) ?? named("seen", name);
    return value === "" && own.includes("{count}") ? null : fill(own, { count: value });
  });
  if (told.length === 0 || told.includes(null)) return null;
  return (told as string[]).reduce((first, second) => t("supervisor.and", { first, second }));
}

/** Where the server's own words name what a sentence cannot. */
function detail(reason: string, payload: Payload): string | null {
  const key = { "verification:not_yet": "why", "verification:gave_up": "reason", "verification:unverified": "reason", "call:malformed": "why", engine_fail_safe: "what", stop: "reason", correction: "text" }[reason];
  const text = key === undefined ? "" : payload.text(key);
  return text === "" ? null : text.length > MOST ? `${text.slice(0, MOST)}…` : text;
}

/** A text in which code stands between backticks, as long as they are in pairs. */
const paired = (text: string): string => (text.split("`").length % 2 === 1 ? text : plain(text));

const plain = (text: string): string => visible(text.replaceAll("`", "'"));

/** What stands behind a record, of which nothing is certain. */
class Payload {
  private readonly fields: Record<string, unknown>;

  constructor(payload: unknown) {
    this.fields = typeof payload === "object" && payload !== null ? (payload as Record<string, unknown>) : {};
  }

  text(name: string): string {
    const value = this.fields[name];
    return typeof value === "string" ? value : "";
  }

  /** A text that stands between backticks. */
  code(name: string): string {
    return plain(this.text(name));
  }

  number(name: string): number | "" {
    const value = this.fields[name];
    return typeof value === "number" ? value : "";
  }

  list(name: string): string[] {
    const value = this.fields[name];
    return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
  }

  /** Several signals, or the one that the record is about. */
  signals(): { name: string; value: number | "" }[] {
    const several = this.fields.signals;
    const all: unknown[] = Array.isArray(several) ? several : this.text("signal") === "" ? [] : [this.fields];
    return all.map((one) => {
      const signal = new Payload(one);
      return { name: signal.text("signal"), value: signal.number("value") };
    });
  }
}
