/** What went wrong, and what to do about it. */

import { Failure } from "../api/client";
import { useSpeech } from "../i18n/language";
import { Icon } from "./icon";

interface Props {
  error: unknown;
  onRetry?: () => void;
  onClose?: () => void;
}

export function Problem({ error, onRetry, onClose }: Props) {
  const { t, named } = useSpeech();
  const failure = error instanceof Failure ? error : null;
  const code = failure?.code ?? "page";
  const remedy = failure?.problem.hint ?? named("remedy", code);
  return (
    <div className="problem" role="alert">
      <Icon name="warn" />
      <div className="problem-words">
        <p className="problem-what">{failure?.offline ? t("problem.offline") : error instanceof Error ? error.message : String(error)}</p>
        {remedy !== code.replaceAll("_", " ") && <p className="problem-remedy">{remedy}</p>}
        {failure?.retryAfter != null && <p className="problem-remedy">{t("problem.retryAfter", { seconds: failure.retryAfter })}</p>}
        {failure?.problem.paths && failure.problem.paths.length > 0 && (
          <ul className="paths">
            {failure.problem.paths.map((path) => (
              <li key={path}>
                <code>{path}</code>
              </li>
            ))}
          </ul>
        )}
      </div>
      {onRetry && (
        <button type="button" onClick={onRetry}>
          {t("retry")}
        </button>
      )}
      {onClose && (
        <button type="button" className="plain" aria-label={t("close")} onClick={onClose}>
          <Icon name="cross" />
        </button>
      )}
    </div>
  );
}
