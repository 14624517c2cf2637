/** Where people write: text, files, the mode, send and stop. */

import { useEffect, useId, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import type { Info, Mode } from "../api/contract";
import type { Outgoing } from "../conversation/session";
import { useSpeech } from "../i18n/language";
import { useMode } from "../settings/mode";
import { recall, remember } from "../settings/storage";
import { bytes } from "../ui/figures";
import { Icon } from "../ui/icon";
import { Problem } from "../ui/problem";
import { ModeToggle } from "./mode-toggle";
import { useUploads } from "./uploads";

interface Props {
  /** Drafts are kept under this name while the page is open. */
  draft: string;
  info: Info | null;
  /** There is something to send to. */
  ready: boolean;
  busy: boolean;
  /** A question waits above: answering comes first. */
  waiting: boolean;
  onSend: (outgoing: Outgoing) => Promise<void>;
  /** Takes a message while a turn is under way. */
  onWait?: (outgoing: Outgoing) => void;
  /** A message that came back; it is put into the empty input. */
  returned?: Outgoing | null;
  onTaken?: () => void;
  onStop: () => void;
  above?: ReactNode;
}

const DRAFT = "holon_draft.";

export function Composer({ draft, info, ready: open, busy, waiting, onSend, onWait, returned = null, onTaken, onStop, above }: Props) {
  const { t } = useSpeech();
  const [mode, setMode] = useMode();
  const [text, setText] = useState(() => recall(DRAFT + draft) ?? "");
  const [said, setSaid] = useState("");
  const uploads = useUploads(info?.limits.upload_bytes ?? null, (name) => t("upload.tooLarge", { name, limit: bytes(info?.limits.upload_bytes ?? 0) }));
  const area = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const leaving = useRef(false);
  const hint = useId();

  useEffect(() => {
    remember(DRAFT + draft, text || null);
  }, [draft, text]);
  useEffect(() => {
    // On a phone the keyboard would cover what people came to read.
    if (matchMedia("(min-width: 760px)").matches) area.current?.focus();
  }, []);

  const take = useRef(uploads.add);
  take.current = uploads.add;
  useEffect(() => {
    // Wherever a file is let go, it is meant for the message.
    const drop = (event: DragEvent) => event.dataTransfer && take.current([...event.dataTransfer.files]);
    addEventListener("drop", drop);
    return () => removeEventListener("drop", drop);
  }, []);

  const restore = uploads.reset;
  useEffect(() => {
    if (returned === null) return;
    setText((now) => now || returned.text);
    restore(returned.files);
    onTaken?.();
  }, [returned, restore, onTaken]);

  const queues = busy && onWait !== undefined;
  const ready = open && (!busy || queues) && uploads.busy === 0 && text.trim() !== "";
  const send = async () => {
    if (!ready) return;
    const outgoing = { text, files: uploads.files, mode };
    setText("");
    uploads.reset();
    if (queues) {
      onWait(outgoing);
      setSaid(t("queue.queued"));
      return;
    }
    try {
      await onSend(outgoing);
    } catch {
      // The words come back; what went wrong is shown by whoever sent them.
      setText((now) => now || outgoing.text);
      uploads.reset(outgoing.files);
    }
  };
  const toggle = () => {
    const next: Mode = mode === "plan" ? "build" : "plan";
    setMode(next);
    setSaid(t("mode.now", { mode: t(next === "plan" ? "mode.plan" : "mode.build") }));
  };
  const key = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    // Safari ends the composition before its Enter arrives, and marks that Enter by this number.
    if (event.nativeEvent.isComposing || event.keyCode === 229) return;
    const wasLeaving = leaving.current;
    if (event.key !== "Shift") leaving.current = event.key === "Escape";
    if (event.key === "Tab" && event.shiftKey && !wasLeaving) {
      event.preventDefault();
      toggle();
    } else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      void send();
    }
  };
  return (
    <form
      className="composer"
      data-mode={mode}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {uploads.error !== null && <Problem error={uploads.error} onClose={uploads.forgive} />}
      {above}
      <div className="composer-box">
        {(uploads.files.length > 0 || uploads.busy > 0) && (
          <ul className="chips" aria-label={t("files")}>
            {uploads.files.map((file) => (
              <li key={file.id} className="chip">
                {file.name} <span className="faint">{bytes(file.bytes)}</span>
                <button type="button" className="plain" aria-label={t("upload.remove", { name: file.name })} onClick={() => uploads.remove(file.id)}>
                  <Icon name="cross" size={14} />
                </button>
              </li>
            ))}
            {uploads.busy > 0 && <li className="chip">{t("upload.busy")}</li>}
          </ul>
        )}
        <textarea
          ref={area}
          rows={2}
          dir="auto"
          value={text}
          aria-label={t("say")}
          aria-describedby={hint}
          placeholder={waiting ? t("say.waiting") : mode === "plan" ? t("say.plan") : t("say.build")}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={key}
          onBlur={() => {
            leaving.current = false;
          }}
          onPaste={(event) => {
            if (event.clipboardData.files.length === 0) return;
            event.preventDefault();
            uploads.add(event.clipboardData.files);
          }}
        />
        <div className="composer-bar">
          <ModeToggle mode={mode} onChange={setMode} />
          <input ref={picker} type="file" multiple hidden aria-label={t("upload")} onChange={(event) => {
            uploads.add([...(event.target.files ?? [])]);
            event.target.value = "";
          }} />
          <button type="button" className="plain" aria-label={t("upload")} title={t("upload")} onClick={() => picker.current?.click()}>
            <Icon name="clip" />
          </button>
          <span id={hint} className="composer-hint">
            {queues ? t("queue.hint") : t("say.hint")}
          </span>
          {queues && text.trim() !== "" && (
            <button type="submit" className="round send send-queue" aria-label={t("queue.add")} title={t("queue.add")} disabled={!ready}>
              <Icon name="clock" />
            </button>
          )}
          {busy ? (
            <button type="button" className="round stop" aria-label={t("stop")} title={t("stop")} onClick={onStop}>
              <Icon name="stop" />
            </button>
          ) : (
            <button type="submit" className="round send" aria-label={t("send")} title={t("send")} disabled={!ready}>
              <Icon name="send" />
            </button>
          )}
        </div>
      </div>
      <div className="sr-only" role="status">
        {said}
      </div>
    </form>
  );
}
