/** Starts a run from the page. */

import { useState } from "react";
import { useLocation } from "wouter";
import { api } from "../api/client";
import type { Info } from "../api/contract";
import { useSpeech } from "../i18n/language";
import { useServer } from "../ui/ask-server";
import { Dialog } from "../ui/dialog";
import { Problem } from "../ui/problem";

export function StartRun({ info, onClose }: { info: Info | null; onClose: () => void }) {
  const { t } = useSpeech();
  const [, navigate] = useLocation();
  const modes = useServer("modes", api.modes);
  const [goal, setGoal] = useState("");
  const [mode, setMode] = useState("");
  const [workspace, setWorkspace] = useState(info?.default_workspace ?? info?.workspaces[0] ?? "");
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const start = async () => {
    setBusy(true);
    setError(null);
    try {
      const { id } = await api.startRun({ workspace, goal, gate: "ask", ...(mode ? { mode } : {}) });
      navigate(`/runs/${id}`);
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return (
    <Dialog title={t("run.new")} onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          void start();
        }}
      >
        <label>
          {t("run.goal")}
          <textarea rows={4} required data-first value={goal} onChange={(event) => setGoal(event.target.value)} />
        </label>
        <label>
          {t("mode")}
          <select value={mode} onChange={(event) => setMode(event.target.value)}>
            <option value="">{t("run.modeDefault")}</option>
            {modes.value?.modes.map((one) => (
              <option key={one.name} value={one.name}>
                {one.name} – {one.description}
              </option>
            ))}
          </select>
        </label>
        <label>
          {t("workspace")}
          <input type="text" required value={workspace} spellCheck={false} onChange={(event) => setWorkspace(event.target.value)} />
        </label>
        {error !== null && <Problem error={error} />}
        <footer className="dialog-foot">
          <button type="button" onClick={onClose}>
            {t("cancel")}
          </button>
          <button type="submit" className="primary" disabled={busy || goal.trim() === ""}>
            {t("run.start")}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
