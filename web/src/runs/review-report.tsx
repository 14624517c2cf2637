/** Findings of a review, each at its lines. */

import { useSpeech } from "../i18n/language";
import { Markdown } from "../ui/markdown";
import { visible } from "../ui/visible";
import { list, number, text, type Fields } from "./reading";

const TONES: Record<string, string> = { critical: "bad", high: "bad", medium: "warn", low: "plain", nit: "plain" };
const RANKS = Object.keys(TONES);

export function ReviewReport({ value }: { value: Fields }) {
  const { t, named } = useSpeech();
  const findings = list(value.findings);
  const paths = [...new Set(findings.map((finding) => text(finding.path)))];
  const verdict = text(value.verdict);
  return (
    <div className="review">
      <p>
        <span className={`badge badge-${verdict === "approve" ? "good" : verdict === "block" ? "bad" : "plain"}`}>{named("verdict", verdict)}</span>{" "}
        {t("review.count", { count: findings.length })}
      </p>
      {paths.map((path) => (
        <section key={path} className="review-file">
          <h3 className="patch-name">
            <span className="file-path">{path}</span>
          </h3>
          {findings
            .filter((finding) => text(finding.path) === path)
            .toSorted((a, b) => (number(a.line) ?? 0) - (number(b.line) ?? 0) || RANKS.indexOf(text(a.severity)) - RANKS.indexOf(text(b.severity)))
            .map((finding, at) => (
              <Finding key={text(finding.fingerprint) || at} finding={finding} />
            ))}
        </section>
      ))}
    </div>
  );
}

function Finding({ finding }: { finding: Fields }) {
  const { t, named } = useSpeech();
  const severity = text(finding.severity);
  const line = number(finding.line);
  const snippet = text(finding.snippet);
  const confidence = number(finding.confidence);
  const location = text(finding.location);
  return (
    <article className="finding">
      <header>
        <span className={`badge badge-${TONES[severity] ?? "plain"}`}>{named("severity", severity)}</span>
        <h4>{text(finding.title)}</h4>
        <span className="faint">
          {[line !== null && t("review.line", { line: number(finding.end_line) ? `${line}–${number(finding.end_line)}` : line }), text(finding.category)].filter(Boolean).join(" · ")}
          {confidence !== null && ` · ${Math.round(confidence * 100)} %`}
          {location !== "" && location !== "verified" && ` · ${named("location", location)}`}
        </span>
      </header>
      {snippet !== "" && <Lines text={snippet} first={line} />}
      <Markdown text={text(finding.body)} scope={`f${text(finding.fingerprint)}`} />
      {text(finding.suggestion) !== "" && (
        <>
          <p className="faint">{t("review.suggestion")}</p>
          <Lines text={text(finding.suggestion)} first={null} />
        </>
      )}
    </article>
  );
}

/** Source lines with the numbers they have in the file. */
function Lines({ text: source, first }: { text: string; first: number | null }) {
  return (
    <pre className="lines" tabIndex={0}>
      {source.replace(/\n$/, "").split("\n").map((line, at) => (
        <span key={at} className="line">
          {first !== null && <span className="line-no">{first + at}</span>}
          <span>{visible(line) || " "}</span>
        </span>
      ))}
    </pre>
  );
}

export function TrackedFindings({ value }: { value: Fields }) {
  const { t, named } = useSpeech();
  return (
    <div className="review">
      <p>{t("tracked", { fixed: number(value.fixed) ?? 0, open: number(value.open) ?? 0, unclear: number(value.unclear) ?? 0 })}</p>
      <ul className="tracked">
        {list(value.findings).map((finding, at) => (
          <li key={text(finding.fingerprint) || at}>
            <span className={`badge badge-${text(finding.state) === "fixed" ? "good" : text(finding.state) === "open" ? "bad" : "warn"}`}>{named("fate", text(finding.state))}</span>{" "}
            <code>
              {text(finding.path)}
              {number(finding.line) !== null && `:${number(finding.line)}`}
            </code>{" "}
            {text(finding.title)} <span className="faint">{text(finding.reason)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
