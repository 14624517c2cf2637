/** Phase, mode and tier of the supervisor, its reasons, and the way to ask it to step in. */

import { useState } from "react";
import { api } from "../api/client";
import type { Supervision } from "../conversation/view";
import { useSpeech } from "../i18n/language";
import { Problem } from "../ui/problem";

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
  const records = supervision ? supervision.records.toReversed() : [];
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
              <dt>{t("supervisor.mode")}</dt>
              <dd>{named("execution", supervision.record.mode)}</dd>
            </div>
            <div>
              <dt>{t("supervisor.level")}</dt>
              <dd>{named("level", supervision.record.level)}</dd>
            </div>
            {supervision.tier !== "graph" && (
              <div>
                <dt>{t("supervisor.tier")}</dt>
                <dd>
                  <span className="badge badge-warn" data-testid="tier">{named("tier", supervision.tier)}</span>
                </dd>
              </div>
            )}
          </dl>
          <ol className="reasons" aria-label={t("supervisor.reasons")}>
            {(all ? records : records.slice(0, FEW)).map((record, at) => (
              <li key={`${record.ts}.${at}`}>
                <span className="faint">{t("supervisor.round", { round: record.round })}</span> {named("event", record.event)} <code>{record.reason}</code>
              </li>
            ))}
          </ol>
          {records.length > FEW && (
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
