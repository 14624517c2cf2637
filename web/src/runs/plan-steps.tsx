import { useSpeech } from "../i18n/language";
import { list, text, texts, type Fields } from "./reading";

/** The steps of a plan with their files, checks and order. */
export function PlanSteps({ value }: { value: Fields }) {
  const { t } = useSpeech();
  const words = (title: string, items: string[]) =>
    items.length > 0 && (
      <>
        <h3>{title}</h3>
        <ul>
          {items.map((item) => (
            <li key={item}>{item}</li>
          ))}
        </ul>
      </>
    );
  return (
    <div className="plan">
      <ol className="plan-steps">
        {list(value.steps).map((step, at) => (
          <li key={text(step.id) || at}>
            <h4>
              <code>{text(step.id)}</code> {text(step.title)}
            </h4>
            <dl className="facts">
              <Codes label={t("plan.files")} items={texts(step.files)} />
              <Codes label={t("plan.checks")} items={texts(step.checks)} />
              <Codes label={t("plan.after")} items={texts(step.depends_on)} />
            </dl>
          </li>
        ))}
      </ol>
      {words(t("plan.risks"), texts(value.risks))}
      {words(t("plan.acceptance"), texts(value.acceptance))}
    </div>
  );
}

function Codes({ label, items }: { label: string; items: string[] }) {
  if (items.length === 0) return null;
  return (
    <>
      <dt>{label}</dt>
      <dd>
        {items.map((item) => (
          <code key={item} className="chip">
            {item}
          </code>
        ))}
      </dd>
    </>
  );
}
