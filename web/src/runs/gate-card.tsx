/** A flow at a gate: a person decides whether the next step may start. */

import { useState } from "react";
import { api } from "../api/client";
import type { Run } from "../api/contract";
import { useSpeech } from "../i18n/language";
import { useFocusAfter } from "../ui/focus-after";
import { Icon } from "../ui/icon";
import { Problem } from "../ui/problem";

interface Props {
  run: string;
  gate: NonNullable<Run["gate"]>;
  onDecided: () => void;
}

export function GateCard({ run, gate, onDecided }: Props) {
  const { t } = useSpeech();
  const [comment, setComment] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const decided = useFocusAfter("main h1");
  const decide = async (decision: "approve" | "reject") => {
    decided();
    setBusy(true);
    setError(null);
    try {
      await api.gate(run, decision, comment.trim());
      onDecided();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <section className="asked" aria-labelledby="gate-title">
      <h2 id="gate-title" className="asked-title">
        <Icon name="shield" size={16} /> {t("gate", { step: gate.step })}
      </h2>
      <p>{t("gate.what")}</p>
      <ul className="paths">
        {Object.entries(gate.files).map(([path, digest]) => (
          <li key={path}>
            <code>{path}</code> <code className="faint" title={digest}>{digest.slice(0, 12)}</code>
          </li>
        ))}
      </ul>
      <label className="approval-why">
        <span className="sr-only">{t("gate.comment")}</span>
        <input type="text" value={comment} placeholder={t("gate.comment")} onChange={(event) => setComment(event.target.value)} />
      </label>
      <div className="approval-buttons">
        <button type="button" className="primary" disabled={busy} onClick={() => decide("approve")}>
          {t("asked.yes")}
        </button>
        <button type="button" disabled={busy} onClick={() => decide("reject")}>
          {t("asked.no")}
        </button>
      </div>
      {error !== null && <Problem error={error} />}
    </section>
  );
}
