/** What a call printed: whole, or its beginning and its end with the middle on demand. */

import { useState } from "react";
import { api } from "../api/client";
import type { ToolUse } from "../conversation/view";
import { useSpeech } from "../i18n/language";
import { NumberedCode } from "../ui/code";
import { CopyButton } from "../ui/copy";
import { bytes } from "../ui/figures";
import { Problem } from "../ui/problem";
import { visible } from "../ui/visible";

/** Fetched with one press. */
const STEP = 256 << 10;
/** Fetched at once for a copy. */
const MOST = 1 << 20;

const size = (text: string) => new TextEncoder().encode(text).length;

export function ToolOutput({ use, thread }: { use: ToolUse; thread: string }) {
  const { t } = useSpeech();
  const [middle, setMiddle] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const head = size(use.output) + size(middle);
  const total = size(use.output) + use.leftOut + size(use.outputEnd);
  const left = Math.max(0, total - size(use.outputEnd) - head);
  // What the turn printed beyond its bounds is not kept.
  const there = Math.max(0, Math.min(left, use.kept - head));
  const more = async () => {
    setBusy(true);
    setError(null);
    try {
      const part = await api.output(thread, use.turn, use.call, head, Math.min(STEP, there));
      // A character that ends after the gap is in the end already.
      setMiddle((before) => before + part.text);
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  const label = t("tool.output");
  const copied = () => use.output + middle + (left > 0 ? `\n[… ${left} …]\n` : "") + use.outputEnd;
  return (
    <div className="code-block">
      <CopyButton text={left > 0 && there === left && left <= MOST ? () => api.output(thread, use.turn, use.call, head, left).then((part) => use.output + middle + part.text + use.outputEnd) : copied} label={t("copy.what", { what: label })} />
      <pre className="output" tabIndex={0} aria-label={label} data-testid="output">
        {visible(use.output + middle)}
        {left > 0 && (
          <span className="gap">
            <span>{there > 0 ? t("output.leftOut", { size: bytes(left) }) : t("output.lost", { size: bytes(left) })}</span>
            {there > 0 && (
              <button type="button" disabled={busy} onClick={() => void more()}>
                {there > STEP ? t("output.more", { size: bytes(STEP) }) : t("output.all")}
              </button>
            )}
          </span>
        )}
        {visible(use.outputEnd)}
      </pre>
      {error !== null && <Problem error={error} onClose={() => setError(null)} />}
    </div>
  );
}

/** What a call that runs has printed last. */
export function RunningOutput({ now }: { now: NonNullable<ToolUse["now"]> }) {
  const { t } = useSpeech();
  return (
    <div className="running-output" data-testid="running">
      <pre tabIndex={0} aria-label={t("output.running")}>{visible(now.end)}</pre>
      <p className="faint">{t("output.soFar", { size: bytes(now.bytes) })}</p>
    </div>
  );
}

/** A file that was read, with the numbers of its lines. */
export function FileRead({ use }: { use: ToolUse }) {
  const { t } = useSpeech();
  const read = readOf(use.output);
  if (read === null) return null;
  return (
    <div className="code-block">
      <CopyButton text={() => read.text} label={t("copy.what", { what: t("tool.output") })} />
      <NumberedCode text={read.text} name={use.summary} from={read.from} label={t("tool.output")} />
      <p className="faint read-lines">{t("read.lines", { from: read.from, to: read.to, total: read.total })}</p>
    </div>
  );
}

interface Read {
  from: number;
  to: number;
  total: string;
  text: string;
}

/** What the tool said about the lines, and the lines. */
export function readOf(output: string): Read | null {
  const head = /^\[lines (\d+)-(\d+) of ([\d]+(?: bytes)?)(?:; go on with offset \d+)?\]\n/.exec(output);
  if (!head) return null;
  const from = Number(head[1]);
  let text = output.slice(head[0].length);
  const lines = text.replace(/\n$/, "").split("\n");
  // Some modes number the lines themselves.
  if (lines.every((line, at) => line.startsWith(`${from + at}\t`))) text = lines.map((line) => line.slice(line.indexOf("\t") + 1)).join("\n");
  return { from, to: Number(head[2]), total: head[3] ?? "", text };
}
