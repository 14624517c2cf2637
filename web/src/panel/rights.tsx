/** Narrower rights for this thread: a tool can be asked about or denied, never widened. */

import { useState } from "react";
import type { Word } from "../api/contract";
import type { Session } from "../conversation/session";
import { useSpeech } from "../i18n/language";
import { Problem } from "../ui/problem";

const TOOLS = ["execute", "write_file", "edit_file", "apply_patch", "delete_file", "move_file", "delegate", "mcp:*"];

export function Rights({ session, tools }: { session: Session; tools: Record<string, Word> }) {
  const { t, named } = useSpeech();
  const [error, setError] = useState<unknown>(null);
  const names = [...new Set([...TOOLS, ...Object.keys(tools)])];
  const change = (tool: string, word: string) => {
    const next: Record<string, Word> = { ...tools };
    if (word === "") delete next[tool];
    else next[tool] = word as Word;
    setError(null);
    session.narrow(next).catch((failure: unknown) => setError(failure));
  };
  return (
    <>
      <p className="faint">{t("rights.what")}</p>
      <div className="rights">
        {names.map((tool) => (
          <label key={tool}>
            <code>{tool}</code>
            <select value={tools[tool] ?? ""} onChange={(event) => change(tool, event.target.value)}>
              <option value="">{t("rights.mode")}</option>
              <option value="ask">{named("word", "ask")}</option>
              <option value="deny">{named("word", "deny")}</option>
              {tools[tool] === "allow" && <option value="allow">{named("word", "allow")}</option>}
            </select>
          </label>
        ))}
      </div>
      {error !== null && <Problem error={error} onClose={() => setError(null)} />}
    </>
  );
}
