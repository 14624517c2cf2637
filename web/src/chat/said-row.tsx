/** What a person said, and what can be done with it: copied, said again, said differently, and the ways it was said before. */

import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import type { Mode, Turn, Upload } from "../api/contract";
import type { Version } from "../conversation/branches";
import { useSpeech } from "../i18n/language";
import { CopyButton } from "../ui/copy";
import { bytes, moment } from "../ui/figures";
import { Icon } from "../ui/icon";

interface Props {
  mode: Mode;
  text: string;
  files: Upload[];
  at: string | null;
  state?: Turn["state"];
  /** Nothing else is under way; without it nothing can be said again here. */
  onAgain?: ((text: string) => Promise<void>) | null;
  versions?: Version[];
  onVersion?: (thread: string) => void;
}

export function SaidRow({ mode, text, files, at, state, onAgain = null, versions = [], onVersion }: Props) {
  const { t, named, language } = useSpeech();
  const [editing, setEditing] = useState(false);
  const here = versions.findIndex((version) => version.current);
  const step = (by: number) => {
    const to = versions[here + by];
    if (to) onVersion?.(to.thread);
  };
  return (
    <article className="said" data-mode={mode} aria-label={t("you")}>
      <div className="said-meta">
        <span>
          {mode === "plan" ? "🧠" : "🔨"} {t(mode === "plan" ? "mode.plan" : "mode.build")}
        </span>
        {at && <time dateTime={at}>{moment(at, language)}</time>}
        {state && !["completed", "running", "waiting"].includes(state) && <span className="badge">{named("turn", state)}</span>}
      </div>
      {editing && onAgain ? (
        <Editor
          text={text}
          onCancel={() => setEditing(false)}
          onSend={async (words) => {
            await onAgain(words);
            setEditing(false);
          }}
        />
      ) : (
        <p className="said-text">{text}</p>
      )}
      {files.length > 0 && (
        <ul className="chips" aria-label={t("files")}>
          {files.map((file) => (
            <li key={file.id} className="chip">
              {file.name} <span className="faint">{bytes(file.bytes)}</span>
            </li>
          ))}
        </ul>
      )}
      {(onAgain !== null || versions.length > 1) && !editing && (
        <div className="said-acts">
          {versions.length > 1 && (
            <span className="versions" role="group" aria-label={t("branch.versions")}>
              <button type="button" className="plain" aria-label={t("branch.before")} title={t("branch.before")} disabled={here <= 0} onClick={() => step(-1)}>
                <Icon name="left" size={14} />
              </button>
              <span>{t("branch.of", { at: here + 1, count: versions.length })}</span>
              <button type="button" className="plain" aria-label={t("branch.after")} title={t("branch.after")} disabled={here >= versions.length - 1} onClick={() => step(1)}>
                <Icon name="right" size={14} />
              </button>
            </span>
          )}
          <CopyButton text={() => text} label={t("said.copy")} />
          {onAgain !== null && (
            <>
              <button type="button" className="plain" aria-label={t("said.edit")} title={t("said.edit")} onClick={() => setEditing(true)}>
                <Icon name="pencil" size={16} />
              </button>
              <button type="button" className="plain" aria-label={t("said.again")} title={t("said.again")} onClick={() => void onAgain(text).catch(() => undefined)}>
                <Icon name="again" size={16} />
              </button>
            </>
          )}
        </div>
      )}
    </article>
  );
}

function Editor({ text, onCancel, onSend }: { text: string; onCancel: () => void; onSend: (text: string) => Promise<void> }) {
  const { t } = useSpeech();
  const [words, setWords] = useState(text);
  const [busy, setBusy] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => area.current?.focus(), []);
  const send = () => {
    if (words.trim() === "" || busy) return;
    setBusy(true);
    onSend(words).catch(() => setBusy(false));
  };
  const key = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing || event.keyCode === 229) return;
    if (event.key === "Escape") onCancel();
    else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      send();
    }
  };
  return (
    <form
      className="said-editor"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <textarea ref={area} rows={Math.min(12, words.split("\n").length + 1)} dir="auto" value={words} aria-label={t("said.edit")} onChange={(event) => setWords(event.target.value)} onKeyDown={key} />
      <p className="faint">{t("said.editWhat")}</p>
      <div className="said-acts">
        <button type="button" onClick={onCancel}>
          {t("cancel")}
        </button>
        <button type="submit" className="primary" disabled={words.trim() === "" || busy}>
          {t("send")}
        </button>
      </div>
    </form>
  );
}
