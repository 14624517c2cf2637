/** What went wrong, and what to do about it. */

import { Failure } from "../api/client";
import { useSpeech } from "../i18n/language";
import { Icon } from "./icon";
import { told } from "./told";
import { visible } from "./visible";
import { Words } from "./words";

interface Props {
  error: unknown;
  /** What to do, where the error itself does not say it. */
  remedy?: string;
  onRetry?: () => void;
  onClose?: () => void;
}

export function Problem({ error, remedy: given, onRetry, onClose }: Props) {
  const speech = useSpeech();
  const { t, known, language } = speech;
  const failure = error instanceof Failure ? error : null;
  const own = known("remedy", failure?.code ?? "page");
  // The server's hint knows more, in English; whoever reads another language is better served by the page's own words.
  const hint = failure?.problem.hint;
  const remedy = given ?? (language === "en" ? (hint ?? own) : (own ?? hint)) ?? null;
  const { what, detail } = failure ? told(speech, failure.code, failure.offline ? "" : failure.message, remedy === hint ? undefined : hint) : { what: error instanceof Error ? error.message : String(error), detail: null };
  return (
    <div className="problem" role="alert">
      <Icon name="warn" />
      <div className="problem-words">
        <p className="problem-what">
          <Words text={visible(what)} />
        </p>
        {detail !== null && <Detail text={detail} />}
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

/** What the server said itself, which is English. */
export function Detail({ text }: { text: string }) {
  return (
    <p className="problem-detail" lang="en">
      <Words text={visible(text)} />
    </p>
  );
}
