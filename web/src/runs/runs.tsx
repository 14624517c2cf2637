/** Runs: the list, or one of them. */

import { useState, type ReactNode } from "react";
import { Link } from "wouter";
import { api } from "../api/client";
import type { Info, Run } from "../api/contract";
import { useSpeech } from "../i18n/language";
import { useServer } from "../ui/ask-server";
import { folder, moment } from "../ui/figures";
import { Icon } from "../ui/icon";
import { Page } from "../ui/page";
import { Problem } from "../ui/problem";
import { RunPage } from "./run-page";
import { StartRun } from "./start-run";
import { Outcome } from "./outcome";
import { Words } from "../ui/words";

export default function Runs({ id, menu, info }: { id: string | undefined; menu: ReactNode; info: Info | null }) {
  return id === undefined ? <RunList menu={menu} info={info} /> : <RunPage key={id} id={id} menu={menu} />;
}

function RunList({ menu, info }: { menu: ReactNode; info: Info | null }) {
  const { t } = useSpeech();
  const { value, error, loading, again } = useServer("runs", api.runs);
  const [starting, setStarting] = useState(false);
  const actions = (
    <>
      <button type="button" onClick={again}>
        {t("reload")}
      </button>
      <button type="button" className="primary" onClick={() => setStarting(true)}>
        <Icon name="plus" size={16} /> {t("run.new")}
      </button>
    </>
  );
  return (
    <Page title={t("page.runs")} menu={menu} actions={actions} lead={t("runs.what")}>
      {error !== null && <Problem error={error} onRetry={again} />}
      {value === null && loading && <p className="loading">{t("loading")}</p>}
      {value?.runs.length === 0 && <p className="empty"><Words text={t("runs.none")} /></p>}
      {value && value.runs.length > 0 && (
        <ul className="cards">
          {value.runs.map((run) => (
            <RunCard key={run.id} run={run} />
          ))}
        </ul>
      )}
      {starting && <StartRun info={info} onClose={() => setStarting(false)} />}
    </Page>
  );
}

function RunCard({ run }: { run: Run }) {
  const { language } = useSpeech();
  return (
    <li className="card">
      <Link href={`/runs/${run.id}`}>
        <span className="card-title">{run.goal.split("\n", 1)[0]}</span>
        <span className="card-sub">
          <Outcome run={run} />
          <span className="badge">{run.mode}</span>
          <span>{run.agent}</span>
          <span title={run.workspace}>{folder(run.workspace)}</span>
          <time dateTime={run.started_at}>{moment(run.started_at, language)}</time>
          <code className="faint">{run.id}</code>
        </span>
      </Link>
    </li>
  );
}
