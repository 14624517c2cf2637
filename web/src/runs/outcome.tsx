import type { Run } from "../api/contract";
import { useSpeech } from "../i18n/language";

/** How far a run is, and what it is worth, in one word. */
export function Outcome({ run }: { run: Run }) {
  const { t, named } = useSpeech();
  if (run.state === "running") return <span className="badge badge-accent">{t("run.running")}</span>;
  if (run.state === "gate") return <span className="badge badge-warn">{t("run.gate")}</span>;
  const tone = run.outcome === "success" ? "good" : run.outcome === "needs_human" ? "warn" : "bad";
  return (
    <span className={`badge badge-${tone}`}>
      {named("outcome", run.outcome ?? "unknown")}
      {run.exit_code !== null && ` · ${t("tool.exit", { code: run.exit_code })}`}
    </span>
  );
}
