/** The empty page: what the two modes do, and where the work happens. */

import { useId } from "react";
import type { Info } from "../api/contract";
import { useSpeech } from "../i18n/language";

interface Props {
  info: Info | null;
  workspace: string;
  onWorkspace: (path: string) => void;
}

export function Welcome({ info, workspace, onWorkspace }: Props) {
  const { t } = useSpeech();
  const roots = useId();
  return (
    <div className="welcome">
      <h1>{t("welcome")}</h1>
      <p className="lead">{t("welcome.what")}</p>
      <ul className="welcome-modes">
        <li data-mode="plan">
          <strong>
            🧠 {t("mode.plan")}
          </strong>
          {t("mode.plan.what")}
        </li>
        <li data-mode="build">
          <strong>
            🔨 {t("mode.build")}
          </strong>
          {t("mode.build.what")}
        </li>
      </ul>
      {info?.demo && <p className="demo-note">{t("demo.what")}</p>}
      <label className="workspace-field">
        <span>{t("workspace")}</span>
        <input type="text" list={roots} value={workspace} spellCheck={false} onChange={(event) => onWorkspace(event.target.value)} />
      </label>
      <datalist id={roots}>
        {info?.workspaces.map((root) => (
          <option key={root} value={root} />
        ))}
      </datalist>
    </div>
  );
}
