/** What went wrong, and what to do about it. */

import { Failure } from "../api/client";
import { useSpeech } from "../i18n/language";
import { Icon } from "./icon";
import { Words } from "./words";

interface Props {
  error: unknown;
  /** What to do, where the error itself does not say it. */
  remedy?: string;
  onRetry?: () => void;
  onClose?: () => void;
}

export function Problem({ error, remedy: given, onRetry, onClose }: Props) {
  const { t, named, language } = useSpeech();
  const failure = error instanceof Failure ? error : null;
  const code = failure?.code ?? "page";
  const own = named("remedy", code);
  const known = own !== code.replaceAll("_", " ");
  // The server's hint knows more, in English; whoever reads another language is better served by the page's own words.
  const hint = failure?.problem.hint;
  const remedy = given ?? (hint && !(known && language !== "en") ? hint : known ? own : null);
  return (
    <div className="problem" role="alert">
      <Icon name="warn" />
      <div className="problem-words">
        <p className="problem-what">{failure?.offline ? t("problem.offline") : error instanceof Error ? error.message : String(error)}</p>
        {remedy !== null && (
          <p className="problem-remedy">
            <Words text={remedy} />
          </p>
        )}
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
