/** One run: where it stands, its gate, its artifacts. */

import { useEffect, useState, type ReactNode } from "react";
import { Link } from "wouter";
import { api } from "../api/client";
import type { RunDetail } from "../api/contract";
import { useSpeech } from "../i18n/language";
import { useServer } from "../ui/ask-server";
import { bytes, moment } from "../ui/figures";
import { useFocusAfter } from "../ui/focus-after";
import { Icon } from "../ui/icon";
import { Page } from "../ui/page";
import { Detail, Problem } from "../ui/problem";
import { caused } from "../ui/told";
import { visible } from "../ui/visible";
import { Words } from "../ui/words";
import { Artifact } from "./artifact";
import { Evidence } from "./evidence";
import { GateCard } from "./gate-card";
import { Outcome } from "./outcome";
import { useRunEvents, RunTimeline } from "./run-timeline";
import { TaskList } from "./task-list";

/** What people look at first. */
const ORDER = ["diff.patch", "review.json", "findings.json", "plan.md", "plan.json", "ethics.json", "ethics.md", "debug.json", "summary.md"];

export function RunPage({ id, menu }: { id: string; menu: ReactNode }) {
  const { t, language } = useSpeech();
  const { value: run, error, again } = useServer(`run/${id}`, () => api.run(id));
  const { events, tasks, lost } = useRunEvents(id, again);
  const actions = (
    <Link href="/runs" className="button">
      {t("runs.back")}
    </Link>
  );
  return (
    <Page title={run ? (run.goal.split("\n", 1)[0] ?? id) : id} menu={menu} actions={actions}>
      {error !== null && <Problem error={error} onRetry={again} />}
      {run === null && error === null && <p className="loading">{t("loading")}</p>}
      {lost && run?.state !== "finished" && (
        <p className="link-lost" role="status">
          <span className="spinner" /> {t("link.runLost")}
        </p>
      )}
      {run && (
        <>
          <p className="run-facts">
            <Outcome run={run} />
            {run.state !== "finished" && <StopRun run={id} onStopped={again} />}
            <span className="badge">{run.mode}</span>
            <span>{run.agent}</span>
            <time dateTime={run.started_at}>{moment(run.started_at, language)}</time>
            <code className="faint">{run.workspace}</code>
          </p>
          {run.goal.includes("\n") && <p className="run-goal">{run.goal}</p>}
          <ManifestNotes run={run} />
          {run.state === "gate" && run.gate && <GateCard run={run.id} gate={run.gate} onDecided={again} />}
          <TaskList run={run.id} tasks={tasks} going={run.state !== "finished"} over={run.state === "finished" && run.outcome !== "success"} />
          <Artifacts run={run} />
          <Evidence run={run} />
          <RunTimeline events={events} open={run.state !== "finished"} />
        </>
      )}
    </Page>
  );
}

/** Asks the run to end; that it has ended is told by its events. */
function StopRun({ run, onStopped }: { run: string; onStopped: () => void }) {
  const { t } = useSpeech();
  const [asked, setAsked] = useState(false);
  const stopped = useFocusAfter("main h1");
  const stop = async () => {
    stopped();
    setAsked(true);
    // Over already, or started elsewhere: what is shown then says so.
    await api.stopRun(run).catch(() => undefined);
    onStopped();
  };
  return (
    <button type="button" className="small" disabled={asked} onClick={() => void stop()}>
      <Icon name="stop" size={14} /> {t("run.stop")}
    </button>
  );
}

/** What the manifest says went wrong. */
function ManifestNotes({ run }: { run: RunDetail }) {
  const speech = useSpeech();
  const { t } = speech;
  const error = run.manifest?.error as { kind?: string; message?: string; hint?: string } | null | undefined;
  const breaches = Array.isArray(run.manifest?.breaches) ? (run.manifest.breaches as unknown[]) : [];
  if (!error && breaches.length === 0) return null;
  const { what, detail } = caused(speech, error?.kind ?? "", error?.message ?? "", error?.hint);
  return (
    <div className="problem">
      <div className="problem-words">
        {error && (
          <p className="problem-what">
            <Words text={visible(what)} />
          </p>
        )}
        {detail !== null && <Detail text={detail} />}
        {detail === null && error?.hint && (
          <p className="problem-remedy">
            <Words text={visible(error.hint)} />
          </p>
        )}
        {breaches.length > 0 && (
          <>
            <p className="problem-what">{t("run.breaches", { count: breaches.length })}</p>
            <pre tabIndex={0}>{JSON.stringify(breaches, null, 2)}</pre>
          </>
        )}
      </div>
    </div>
  );
}

function Artifacts({ run }: { run: RunDetail }) {
  const { t } = useSpeech();
  const rank = (path: string) => {
    const at = ORDER.indexOf(path.split("/").pop() ?? path);
    // The manifest is for programs.
    return at < 0 ? ORDER.length + Number(path === "manifest.json") : at;
  };
  const artifacts = run.artifacts.toSorted((a, b) => rank(a.path) - rank(b.path) || a.path.localeCompare(b.path));
  const [chosen, setChosen] = useState<string | null>(null);
  const first = artifacts[0]?.path ?? null;
  const path = chosen ?? first;
  useEffect(() => {
    if (chosen !== null && !run.artifacts.some((artifact) => artifact.path === chosen)) setChosen(null);
  }, [chosen, run]);
  if (artifacts.length === 0) return <p className="empty">{t(run.state === "finished" ? "artifacts.never" : "artifacts.none")}</p>;
  return (
    <section className="artifacts">
      <h2 className="sr-only">{t("artifacts")}</h2>
      <div className="tabs" role="tablist" aria-label={t("artifacts")} onKeyDown={arrows}>
        {artifacts.map((artifact) => (
          <button
            key={artifact.path}
            type="button"
            role="tab"
            id={`tab-${artifact.path}`}
            aria-selected={artifact.path === path}
            aria-controls="artifact"
            tabIndex={artifact.path === path ? 0 : -1}
            onClick={() => setChosen(artifact.path)}
          >
            {artifact.path} <span className="faint">{bytes(artifact.bytes)}</span>
          </button>
        ))}
      </div>
      <div id="artifact" className="artifact" role="tabpanel" aria-labelledby={`tab-${path}`} tabIndex={0}>
        {path !== null && <Artifact key={path} run={run.id} path={path} />}
      </div>
    </section>
  );
}

/** Left and right move between tabs, as people with a keyboard expect. */
function arrows(event: React.KeyboardEvent<HTMLDivElement>): void {
  const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
  if (step === 0) return;
  const tabs = [...event.currentTarget.querySelectorAll<HTMLElement>('[role="tab"]')];
  const at = tabs.indexOf(document.activeElement as HTMLElement);
  const next = tabs[(at + step + tabs.length) % tabs.length];
  next?.focus();
  next?.click();
}
