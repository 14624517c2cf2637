/** 🧠 or 🔨: the one choice beside the input. */

import type { Mode } from "../api/contract";
import { useSpeech } from "../i18n/language";

interface Props {
  mode: Mode;
  onChange: (mode: Mode) => void;
}

export function ModeToggle({ mode, onChange }: Props) {
  const { t } = useSpeech();
  const choice = (value: Mode, sign: string, label: string, what: string) => (
    <label className="mode-choice" data-mode={value} data-on={mode === value} title={`${what} (Shift+Tab)`}>
      <input type="radio" name="agent_mode" value={value} checked={mode === value} onChange={() => onChange(value)} />
      <span aria-hidden="true">{sign}</span> {label}
    </label>
  );
  return (
    <fieldset className="mode-toggle" data-testid="mode-toggle">
      <legend className="sr-only">{t("mode")}</legend>
      {choice("plan", "🧠", t("mode.plan"), t("mode.plan.what"))}
      {choice("build", "🔨", t("mode.build"), t("mode.build.what"))}
    </fieldset>
  );
}
