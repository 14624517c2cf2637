import { useSpeech } from "../i18n/language";
import { list, text, texts, type Fields } from "./reading";

const TONES: Record<string, string> = { pass: "good", warn: "warn", fail: "bad", low: "good", medium: "warn", high: "bad", critical: "bad", unknown: "bad" };

/** The ethics report: the verdict first, then what it rests on. */
export function EthicsReport({ value }: { value: Fields }) {
  const { t, named } = useSpeech();
  const risk = text(value.risk_level) || "unknown";
  const approved = value.is_approved === true;
  return (
    <div className="ethics">
      <p>
        <span className={`badge badge-${approved ? "good" : "bad"}`}>{approved ? t("ethics.approved") : t("ethics.blocked")}</span>{" "}
        <span className={`badge badge-${TONES[risk] ?? "plain"}`}>{t("ethics.risk", { level: named("risk", risk) })}</span>
      </p>
      <p>{text(value.approval_justification)}</p>
      {list(value.checks).length > 0 && (
        <>
          <h3>{t("ethics.checks")}</h3>
          <ul className="tracked">
            {list(value.checks).map((check, at) => (
              <li key={text(check.id) || at}>
                <span className={`badge badge-${TONES[text(check.status)] ?? "plain"}`}>{named("check", text(check.status))}</span> <code>{text(check.id)}</code> {text(check.detail)}
              </li>
            ))}
          </ul>
        </>
      )}
      {list(value.principle_impacts).length > 0 && (
        <>
          <h3>{t("ethics.impacts")}</h3>
          <dl className="impacts">
            {list(value.principle_impacts).map((impact, at) => (
              <div key={at}>
                <dt>
                  {text(impact.principle)}: {text(impact.impact)}
                </dt>
                <dd>{text(impact.rationale)}</dd>
              </div>
            ))}
          </dl>
        </>
      )}
      {texts(value.mitigations).length > 0 && (
        <>
          <h3>{t("ethics.mitigations")}</h3>
          <ul>
            {texts(value.mitigations).map((one) => (
              <li key={one}>{one}</li>
            ))}
          </ul>
        </>
      )}
      {list(value.evidence).length > 0 && (
        <>
          <h3>{t("ethics.evidence")}</h3>
          <ul className="tracked">
            {list(value.evidence).map((one, at) => (
              <li key={at}>
                {text(one.kind)} <code>{text(one.ref)}</code> {text(one.excerpt)}
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}
