/** Modes as they resolve on this machine: every value, and where it comes from. */

import { useState, type ReactNode } from "react";
import { Link } from "wouter";
import { api } from "../api/client";
import type { ModeInfo } from "../api/contract";
import { useSpeech } from "../i18n/language";
import { useServer } from "../ui/ask-server";
import { Page } from "../ui/page";
import { Problem } from "../ui/problem";

export default function Modes({ name, menu }: { name: string | undefined; menu: ReactNode }) {
  const { t } = useSpeech();
  const { value, error, again } = useServer("modes", api.modes);
  const modes = value?.modes ?? [];
  const shown = modes.find((mode) => mode.name === name || mode.aliases.includes(name ?? "")) ?? modes[0];
  return (
    <Page title={t("page.modes")} menu={menu} lead={t("modes.what")}>
      {error !== null && <Problem error={error} onRetry={again} />}
      {value === null && error === null && <p className="loading">{t("loading")}</p>}
      {shown && (
        <div className="modes">
          <nav aria-label={t("page.modes")}>
            <ul className="mode-list">
              {modes.map((mode) => (
                <li key={mode.name}>
                  <Link href={`/modes/${mode.name}`} aria-current={mode === shown ? "page" : undefined}>
                    <strong>{mode.name}</strong>
                    <span className="badge">{mode.access}</span>
                    <span className="mode-what">{mode.description}</span>
                  </Link>
                </li>
              ))}
            </ul>
          </nav>
          <Profile key={shown.name} mode={shown} />
        </div>
      )}
    </Page>
  );
}

function Profile({ mode }: { mode: ModeInfo }) {
  const { t } = useSpeech();
  const [words, setWords] = useState("");
  const rows = mode.rows.filter((row) => `${row.key} ${show(row.value)}`.toLowerCase().includes(words.trim().toLowerCase()));
  return (
    <section className="profile" aria-labelledby="profile-title">
      <h2 id="profile-title">{mode.name}</h2>
      <p>{mode.description}</p>
      <p className="faint">
        {mode.source}
        {mode.aliases.length > 0 && ` · ${t("modes.aliases", { names: mode.aliases.join(", ") })}`}
        {mode.chat && ` · ${t("modes.chat")}`}
      </p>
      <label className="filters">
        <span className="sr-only">{t("audit.filter")}</span>
        <input type="search" value={words} placeholder={t("audit.filter")} onChange={(event) => setWords(event.target.value)} />
      </label>
      <div className="table-scroll" tabIndex={0} role="region" aria-label={t("modes.values")}>
        <table className="rows">
          <thead>
            <tr>
              <th scope="col">{t("modes.key")}</th>
              <th scope="col">{t("modes.value")}</th>
              <th scope="col">{t("modes.origin")}</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.key}>
                <th scope="row">
                  <code>{row.key}</code>
                </th>
                <td>{show(row.value)}</td>
                <td className="faint">{row.origin}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function show(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(show).join(", ") || "–";
  return JSON.stringify(value) ?? "";
}
