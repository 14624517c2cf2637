/** The audit log: every decision, filtered, and the proof that nobody edited it. */

import { useMemo, useState, type ReactNode } from "react";
import { api } from "../api/client";
import type { AuditEntry, AuditVerdict } from "../api/contract";
import { useSpeech } from "../i18n/language";
import { moment } from "../ui/figures";
import { Icon } from "../ui/icon";
import { Page } from "../ui/page";
import { Problem } from "../ui/problem";
import { useAuditLog } from "./entries";

export default function Audit({ menu }: { menu: ReactNode }) {
  const { t } = useSpeech();
  const [thread, setThread] = useState("");
  const [words, setWords] = useState("");
  const [verdict, setVerdict] = useState<AuditVerdict | null>(null);
  const [unverified, setUnverified] = useState<unknown>(null);
  const { entries, more, error, again } = useAuditLog(thread.trim());

  const shown = useMemo(() => {
    const needle = words.trim().toLowerCase();
    const all = entries ?? [];
    if (!needle) return all;
    return all.filter((entry) => `${entry.actor} ${entry.action} ${entry.thread ?? ""} ${JSON.stringify(entry.detail)}`.toLowerCase().includes(needle));
  }, [entries, words]);
  const verify = () => {
    setVerdict(null);
    setUnverified(null);
    api.verifyAudit().then(setVerdict, (failure: unknown) => setUnverified(failure));
  };
  const actions = (
    <button type="button" className="primary" onClick={verify}>
      <Icon name="shield" size={16} /> {t("audit.verify")}
    </button>
  );
  return (
    <Page title={t("page.audit")} menu={menu} actions={actions} lead={t("audit.what")}>
      {error !== null && <Problem error={error} onRetry={again} />}
      {unverified !== null && <Problem error={unverified} onRetry={verify} />}
      <div role="status">{verdict && <Verdict verdict={verdict} />}</div>
      <div className="filters">
        <label>
          {t("audit.filter")}
          <input type="search" value={words} onChange={(event) => setWords(event.target.value)} />
        </label>
        <label>
          {t("audit.thread")}
          <input type="search" value={thread} spellCheck={false} onChange={(event) => setThread(event.target.value)} />
        </label>
        <span className="faint">{t("audit.count", { shown: shown.length, all: entries?.length ?? 0 })}</span>
      </div>
      {entries === null && error === null && <p className="loading">{t("loading")}</p>}
      {entries?.length === 0 && <p className="empty">{t(thread.trim() ? "audit.noThread" : "audit.none")}</p>}
      {shown.length > 0 && (
        <div className="table-scroll" tabIndex={0} role="region" aria-label={t("audit.entries")}>
          <table className="audit">
            <thead>
              <tr>
                <th scope="col">#</th>
                <th scope="col">{t("audit.at")}</th>
                <th scope="col">{t("audit.actor")}</th>
                <th scope="col">{t("audit.action")}</th>
                <th scope="col">{t("audit.thread")}</th>
                <th scope="col">{t("audit.detail")}</th>
                <th scope="col">{t("audit.hash")}</th>
              </tr>
            </thead>
            <tbody>
              {shown.map((entry) => (
                <AuditRow key={entry.seq} entry={entry} onThread={setThread} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {more && (
        <button type="button" className="plain wide" onClick={more}>
          {t("audit.earlier")}
        </button>
      )}
    </Page>
  );
}

function Verdict({ verdict }: { verdict: AuditVerdict }) {
  const { t } = useSpeech();
  return verdict.ok ? (
    <p className="verdict verdict-good">
      <Icon name="check" /> {t("audit.ok", { length: verdict.length ?? 0 })} {verdict.head && <code>{verdict.head.slice(0, 16)}</code>}
    </p>
  ) : (
    <p className="verdict verdict-bad">
      <Icon name="warn" /> {t("audit.broken", { at: verdict.at ?? "?", problem: verdict.problem ?? "" })}
    </p>
  );
}

/** A digest is as good by its beginning; the whole is in its title. */
function Value({ value }: { value: unknown }) {
  const words = typeof value === "string" ? value : JSON.stringify(value);
  return /^[0-9a-f]{40,}$/.test(words) ? <code title={words}>{words.slice(0, 12)}…</code> : words;
}

function AuditRow({ entry, onThread }: { entry: AuditEntry; onThread: (thread: string) => void }) {
  const { t, language } = useSpeech();
  const { thread } = entry;
  const detail = Object.entries(entry.detail ?? {}).filter(([, value]) => value !== null && !(Array.isArray(value) && value.length === 0));
  return (
    <tr>
      <td className="numeric">{entry.seq}</td>
      <td>
        <time dateTime={entry.at}>{moment(entry.at, language)}</time>
      </td>
      <td>{entry.actor}</td>
      <td>
        <code>{entry.action}</code>
      </td>
      <td className="audit-thread">
        {thread && (
          <button type="button" className="plain audit-pick" title={thread} aria-label={t("audit.only", { thread: thread.slice(0, 14) })} onClick={() => onThread(thread)}>
            <code>{thread.slice(0, 14)}</code>
          </button>
        )}
        {entry.turn !== null && <span className="faint"> · {entry.turn}</span>}
      </td>
      <td className="audit-detail">
        {detail.map(([key, value]) => (
          <span key={key} className="pair">
            <span className="faint">{key}</span> <Value value={value} />
          </span>
        ))}
      </td>
      <td>
        <code className="faint" title={entry.hash}>
          {entry.hash.slice(0, 10)}
        </code>
      </td>
    </tr>
  );
}
