/** Who leads, what the supervisor noticed and did, and the way to ask it to step in. */

import { useMemo, useState } from "react";
import { api } from "../api/client";
import type { Recorded, Supervision } from "../conversation/view";
import { useSpeech } from "../i18n/language";
import { Detail, Problem } from "../ui/problem";
import { Words } from "../ui/words";
import { isStep, sentence, telling } from "./supervision-words";

interface Props {
  thread: string;
  supervision: Supervision | null;
  busy: boolean;
}

/** Shown at first; the rest on request. */
const FEW = 4;

export function SupervisorPart({ thread, supervision, busy }: Props) {
  const { t, named } = useSpeech();
  const [error, setError] = useState<unknown>(null);
  const [asked, setAsked] = useState(false);
  const [all, setAll] = useState(false);
  const takeover = () => {
    setError(null);
    api.takeover(thread).then(
      () => setAsked(true),
      (failure: unknown) => setError(failure),
    );
  };
  const records = useMemo(() => telling(supervision?.records ?? []).toReversed(), [supervision]);
  // The plan is drawn above; its steps come first only where there is nothing else.
  const few = records.some((one) => !isStep(one)) ? records.filter((one) => !isStep(one)).slice(0, FEW) : records.slice(0, FEW);
  return (
    <>
      {supervision ? (
        <>
          <dl className="supervisor">
            <div>
              <dt>{t("supervisor.phase")}</dt>
              <dd data-phase={supervision.record.phase}>{named("phase", supervision.record.phase)}</dd>
            </div>
            <div>
              <dt>{t("supervisor.level")}</dt>
              <dd>{named("level", supervision.record.level)}</dd>
            </div>
            {supervision.record.mode === "forced" && (
              <div>
                <dt>{t("supervisor.mode")}</dt>
                <dd data-testid="closed">{t("execution.forced")}</dd>
              </div>
            )}
          </dl>
          <ol className="reasons" aria-label={t("supervisor.reasons")}>
            {(all ? records : few).map((recorded, at) => (
              <Line key={`${recorded.record.ts}.${at}`} recorded={recorded} />
            ))}
          </ol>
          {records.length > few.length && (
            <button type="button" className="plain small" aria-expanded={all} onClick={() => setAll(!all)}>
              {all ? t("less") : t("more")}
            </button>
          )}
        </>
      ) : (
        <p className="faint">{t("supervisor.none")}</p>
      )}
      {busy && (
        <button type="button" className="small" disabled={asked} onClick={takeover}>
          {asked ? t("takeover.asked") : t("takeover")}
        </button>
      )}
      {error !== null && <Problem error={error} onClose={() => setError(null)} />}
    </>
  );
}

function Line({ recorded }: { recorded: Recorded }) {
  const speech = useSpeech();
  const { text, reason, detail } = sentence(speech, recorded);
  return (
    <li data-event={recorded.record.event}>
      <Words text={text} />
      {reason !== null && (
        <>
          {" "}
          <code>{reason}</code>
        </>
      )}
      {detail !== null && <Detail text={detail} />}
    </li>
  );
}
