/** One tool call: what, whether it was allowed and by which rule, what came back, how long it took. */

import { memo, useId } from "react";
import type { ToolUse } from "../conversation/view";
import { useSpeech } from "../i18n/language";
import { CopyButton } from "../ui/copy";
import { duration } from "../ui/figures";
import { Icon } from "../ui/icon";
import { visible } from "../ui/visible";
import { Words } from "../ui/words";
import { later } from "../ui/later";
import { useExpanded } from "./expanded";
import { FileRead, readOf, RunningOutput, ToolOutput } from "./tool-output";
import { why } from "./why";

const PatchView = later(() => import("../ui/patch-view"));

export const ToolCard = memo(function ToolCard({ use, scope }: { use: ToolUse; scope: string }) {
  const speech = useSpeech();
  const { t, named } = speech;
  const [open, toggle] = useExpanded(`${scope}/${use.key}`, use.state === "denied" || use.diff !== "");
  const body = useId();
  const state = t(`tool.${use.state}`);
  const { text, detail } = why(speech, use);
  return (
    <article className="tool" data-state={use.state} data-tool={use.tool}>
      <button type="button" className="tool-head" aria-expanded={open} aria-controls={body} onClick={toggle}>
        <span className={`tool-mark mark-${use.state}`} role="img" aria-label={state} title={state}>
          <Mark state={use.state} />
        </span>
        <span className="tool-name">{visible(use.tool)}</span>
        <span className="tool-summary">{visible(use.summary.split("\n", 1)[0] ?? "")}</span>
        <span className="tool-facts">
          {use.state === "denied" && <span className="badge badge-bad">{t("tool.denied")}</span>}
          {use.state === "waiting" && <span className="badge badge-warn">{t("tool.waiting")}</span>}
          {use.exitCode !== null && use.exitCode !== 0 && <span className="badge badge-bad">{t("tool.exit", { code: use.exitCode })}</span>}
          {use.durationMs !== null && <span className="faint">{duration(use.durationMs)}</span>}
          <Icon name={open ? "down" : "right"} size={14} />
        </span>
      </button>
      {use.state === "running" && use.now !== null && <RunningOutput now={use.now} />}
      <div id={body} className="tool-body" hidden={!open}>
        {open && (
          <>
            {!fitsHead(use.summary) && (
              <div className="code-block">
                <CopyButton text={() => use.summary} label={t("copy.what", { what: t("tool.command") })} />
                <pre tabIndex={0} aria-label={t("tool.command")}>{visible(use.summary)}</pre>
              </div>
            )}
            <dl className="facts">
              <dt>{t("tool.decision")}</dt>
              <dd>
                <span className={`badge badge-${use.decision === "allow" ? "good" : use.decision === "ask" ? "warn" : "bad"}`}>{named("word", use.decision)}</span>{" "}
                <Words text={visible(text)} />
                {detail !== null && (
                  <span className="why-detail" lang="en">
                    {" "}
                    <Words text={visible(detail)} />
                  </span>
                )}
                {use.rule && <code className="rule">{use.rule}</code>}
              </dd>
              {use.exitCode !== null && (
                <>
                  <dt>{t("tool.exitCode")}</dt>
                  <dd>{use.exitCode}</dd>
                </>
              )}
              {!repeats(use.result, use.output + use.outputEnd) && (
                <>
                  <dt>{t("tool.result")}</dt>
                  <dd>{visible(use.result)}</dd>
                </>
              )}
            </dl>
            {use.diff !== "" && <PatchView patch={use.diff} narrow />}
            {printed(use) && (readOf(use.output) && use.tool === "read_file" ? <FileRead use={use} /> : <ToolOutput use={use} thread={scope} />)}
          </>
        )}
      </div>
    </article>
  );
});

/** Whether the output says more than what the card shows already. */
function printed({ output, diff, result }: ToolUse): boolean {
  return output !== "" && (diff === "" || !repeats(output, result));
}

/** Whether the result in one line says nothing that the output and the exit code do not. */
export function repeats(result: string, output: string): boolean {
  const line = (text: string) => visible(text).replace(/\s+/g, " ").trim();
  const said = line(result).replace(/^exit code -?\d+(?!,)/, "").replace(/…$/, "").trim();
  return said === "" || line(output).includes(said);
}

/** Whether the head of the card shows all of it already, on any screen. */
function fitsHead(summary: string): boolean {
  return summary.length <= 32 && !summary.includes("\n");
}

function Mark({ state }: { state: ToolUse["state"] }) {
  switch (state) {
    case "running":
      return <span className="spinner" />;
    case "ok":
      return <Icon name="check" size={14} />;
    case "denied":
      return <Icon name="shield" size={14} />;
    case "waiting":
      return <Icon name="clock" size={14} />;
    case "failed":
    case "lost":
      return <Icon name="cross" size={14} />;
  }
}
