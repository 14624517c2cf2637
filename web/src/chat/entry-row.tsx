/** One row of the conversation. */

import { memo } from "react";
import type { Decision, Turn } from "../api/contract";
import type { Version } from "../conversation/branches";
import type { Entry, Said, Thought } from "../conversation/view";
import { fill, useSpeech } from "../i18n/language";
import { CopyButton } from "../ui/copy";
import { Icon } from "../ui/icon";
import { Markdown } from "../ui/markdown";
import { Detail } from "../ui/problem";
import { told } from "../ui/told";
import { visible } from "../ui/visible";
import { Words } from "../ui/words";
import { AskedCard } from "./asked-card";
import { useExpanded } from "./expanded";
import { SaidRow } from "./said-row";
import { ToolCard } from "./tool-card";

interface Props {
  entry: Entry;
  /** Names the thread, for what is remembered about its rows. */
  scope: string;
  turnState: Turn["state"] | undefined;
  busy: boolean;
  /** It belongs to the last message: nobody has gone on yet. */
  latest: boolean;
  onAnswer: (interrupt: string, answers: string[] | undefined, decisions: Decision[] | undefined) => Promise<void>;
  onBuild: () => void;
  onGoOn: () => void;
  /** Says a message again, in these words, in a branch of its own. */
  onAgain: (said: Said, text: string) => Promise<void>;
  /** The same for the message that the last answer is about. */
  onRegenerate: (() => void) | null;
  versionsOf: (turn: number) => Version[];
  onVersion: (thread: string) => void;
  /** It was found, and is the one to look at. */
  found: boolean;
}

/** Ends after which the next message goes on from what was done. */
const GOES_ON = new Set(["stopped", "max_iterations"]);

export const EntryRow = memo(function EntryRow({ entry, scope, turnState, busy, latest, onAnswer, onBuild, onGoOn, onAgain, onRegenerate, versionsOf, onVersion, found }: Props) {
  const { t, known } = useSpeech();
  const body = () => {
    switch (entry.kind) {
      case "said":
        return (
          <SaidRow
            mode={entry.mode}
            text={entry.text}
            files={entry.files}
            at={entry.at}
            state={turnState}
            onAgain={busy ? null : (text) => onAgain(entry, text)}
            versions={versionsOf(entry.turn)}
            onVersion={onVersion}
          />
        );
      case "answer":
        return (
          <article className="answer" data-live={entry.live} aria-label={t("answer")}>
            <Markdown text={entry.text} scope={`m${entry.key}`} live={entry.live} />
            {!entry.live && (
              <div className="answer-acts">
                <CopyButton text={() => entry.text} label={t("answer.copy")} />
                {onRegenerate !== null && latest && !busy && (
                  <button type="button" className="plain copy" aria-label={t("answer.again")} title={t("answer.again")} onClick={onRegenerate}>
                    <Icon name="again" size={16} />
                  </button>
                )}
              </div>
            )}
          </article>
        );
      case "thought":
        return <ThoughtRow thought={entry} scope={scope} />;
      case "tool":
        return <ToolCard use={entry} scope={scope} />;
      case "asked":
        return <AskedCard asked={entry} busy={busy} onAnswer={onAnswer} />;
      case "note":
        return (
          <p className="note" data-tone={entry.tone}>
            {fill(known("note", entry.tone) ?? "{text}", { text: visible(entry.text.replaceAll("\n", ", ")) })}
          </p>
        );
      case "trouble":
        return <TroubleRow code={entry.code} text={entry.text} onBuild={onBuild} onGoOn={latest && !busy && turnState !== "undone" && GOES_ON.has(entry.code) ? onGoOn : null} />;
    }
  };
  return (
    <div className="entry" data-kind={entry.kind} data-undone={turnState === "undone"} data-found={found || undefined}>
      {body()}
    </div>
  );
});

function ThoughtRow({ thought, scope }: { thought: Thought; scope: string }) {
  const { t } = useSpeech();
  const [open, toggle] = useExpanded(`${scope}/${thought.key}`, false);
  return (
    <div className="thought">
      <button type="button" className="thought-head" aria-expanded={open} onClick={toggle}>
        <Icon name={open ? "down" : "right"} size={14} />
        {thought.live ? t("thought.live") : t("thought")}
      </button>
      {open && <div className="thought-text">{thought.text}</div>}
    </div>
  );
}

function TroubleRow({ code, text, onBuild, onGoOn }: { code: string; text: string; onBuild: () => void; onGoOn: (() => void) | null }) {
  const speech = useSpeech();
  const { t, known } = speech;
  const { what, detail } = told(speech, code, text);
  const remedy = known("trouble", code) ?? known("remedy", code);
  return (
    <div className="trouble" data-code={code}>
      <Icon name={code === "plan_mode" ? "shield" : "warn"} />
      <div className="problem-words">
        <p className="problem-what">
          <Words text={visible(what)} />
        </p>
        {detail !== null && <Detail text={detail} />}
        {remedy !== null && (
          <p className="problem-remedy">
            <Words text={remedy} />
          </p>
        )}
      </div>
      {code === "plan_mode" && (
        <button type="button" onClick={onBuild}>
          🔨 {t("trouble.build")}
        </button>
      )}
      {onGoOn && (
        <button type="button" onClick={onGoOn}>
          {t("goOn")}
        </button>
      )}
    </div>
  );
}
