/** One call that waits for a yes or a no. */

import { useId, useState } from "react";
import type { ActionRequest, Decision } from "../api/contract";
import { useSpeech } from "../i18n/language";
import { visible } from "../ui/visible";
import { Words } from "../ui/words";
import { why } from "./why";

interface Props {
  request: ActionRequest;
  /** The only thing asked: the buttons answer at once. */
  alone: boolean;
  busy: boolean;
  value: Decision | null;
  onChange: (decision: Decision, now: boolean) => void;
}

export function ApprovalField({ request, alone, busy, value, onChange }: Props) {
  const speech = useSpeech();
  const { t } = speech;
  const [message, setMessage] = useState("");
  const name = useId();
  const reject = (text: string): Decision => (text.trim() ? { type: "reject", message: text.trim() } : { type: "reject" });
  return (
    <fieldset className="approval">
      <legend>
        <code className="tool-name">{visible(request.name)}</code>
      </legend>
      {request.summary && <pre tabIndex={0} aria-label={t("tool.command")}>{visible(request.summary)}</pre>}
      {request.reason && (
        <p className="faint">
          <Words text={visible(why(speech, { tool: request.name, decision: "ask", rule: "tools.", reason: request.reason }).text)} />
        </p>
      )}
      <label className="approval-why">
        <span className="sr-only">{t("asked.why")}</span>
        <input
          type="text"
          value={message}
          placeholder={t("asked.why")}
          onChange={(event) => {
            setMessage(event.target.value);
            if (!alone && value?.type === "reject") onChange(reject(event.target.value), false);
          }}
        />
      </label>
      {alone ? (
        <div className="approval-buttons">
          <button type="button" className="primary" disabled={busy} onClick={() => onChange({ type: "approve" }, true)}>
            {t("asked.yes")}
          </button>
          <button type="button" disabled={busy} onClick={() => onChange(reject(message), true)}>
            {t("asked.no")}
          </button>
        </div>
      ) : (
        <div className="options">
          <label className="option" data-on={value?.type === "approve"}>
            <input type="radio" name={name} checked={value?.type === "approve"} onChange={() => onChange({ type: "approve" }, false)} />
            {t("asked.yes")}
          </label>
          <label className="option" data-on={value?.type === "reject"}>
            <input type="radio" name={name} checked={value?.type === "reject"} onChange={() => onChange(reject(message), false)} />
            {t("asked.no")}
          </label>
        </div>
      )}
    </fieldset>
  );
}
