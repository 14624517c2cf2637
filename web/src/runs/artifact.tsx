/** An artifact, shown as what it is. */

import type { ReactNode } from "react";
import { api } from "../api/client";
import { useSpeech } from "../i18n/language";
import { useServer } from "../ui/ask-server";
import { later } from "../ui/later";
import { Markdown } from "../ui/markdown";
import { Problem } from "../ui/problem";
import { visible } from "../ui/visible";
import { EthicsReport } from "./ethics-report";
import { PlanSteps } from "./plan-steps";
import { ReviewReport, TrackedFindings } from "./review-report";

const PatchView = later(() => import("../ui/patch-view"));

/** Text beyond this is cut; the file itself can be opened. */
const LONGEST = 400_000;

export function Artifact({ run, path }: { run: string; path: string }) {
  const { t } = useSpeech();
  const { value, error, loading, again } = useServer(`artifact/${run}/${path}`, () => api.runFile(run, path));
  if (error !== null) return <Problem error={error} onRetry={again} />;
  if (value === null) return loading ? <p className="loading">{t("loading")}</p> : null;
  if (value === "") return <p className="faint">{t("artifact.empty")}</p>;
  return render(path, value, t("artifact.cut"));
}

function render(path: string, text: string, cut: string): ReactNode {
  const name = path.split("/").pop() ?? path;
  if (name.endsWith(".patch") || name.endsWith(".diff")) return <PatchView patch={text} />;
  if (name.endsWith(".md")) return <Markdown text={text} scope={path.replace(/[^\w]/g, "_")} />;
  if (name.endsWith(".json")) {
    const value = parse(text);
    if (value !== null) {
      // One that was rejected may be anything: a report of it would claim what it does not say.
      if (name === "review.json" && typeof value.verdict === "string") return <ReviewReport value={value} />;
      if (name === "findings.json" && Array.isArray(value.findings)) return <TrackedFindings value={value} />;
      if (name === "plan.json" && Array.isArray(value.steps)) return <PlanSteps value={value} />;
      if (name === "ethics.json" && typeof value.is_approved === "boolean") return <EthicsReport value={value} />;
      return beginning(JSON.stringify(value, null, 2), cut);
    }
  }
  return beginning(text, cut);
}

function beginning(text: string, cut: string): ReactNode {
  return (
    <>
      <pre tabIndex={0}>{visible(text.slice(0, LONGEST))}</pre>
      {text.length > LONGEST && <p className="faint">{cut}</p>}
    </>
  );
}

function parse(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
