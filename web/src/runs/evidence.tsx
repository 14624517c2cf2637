/** What a run left besides its artifacts: what the agent and the checks printed, for whoever asks why it ended so. */

import { useEffect, useRef, useState } from "react";
import { api } from "../api/client";
import type { RunDetail } from "../api/contract";
import { useSpeech } from "../i18n/language";
import { useServer } from "../ui/ask-server";
import { CopyButton } from "../ui/copy";
import { bytes } from "../ui/figures";
import { Icon } from "../ui/icon";
import { Problem } from "../ui/problem";
import { visible } from "../ui/visible";
import { Words } from "../ui/words";
import { inOrder, stepNames, titled } from "./evidence-names";

export function Evidence({ run }: { run: RunDetail }) {
  const { t } = useSpeech();
  const [open, setOpen] = useState<string | null>(null);
  const files = inOrder(run.evidence ?? []);
  if (files.length === 0) return null;
  const names = stepNames(run.manifest);
  return (
    <details className="evidence" open={run.state === "finished" && run.outcome !== "success"}>
      <summary>{t("evidence", { count: files.length })}</summary>
      <p className="faint">{t("evidence.what")}</p>
      <ul>
        {files.map(({ path, bytes: size }) => (
          <li key={path}>
            <button type="button" className="evidence-head" aria-expanded={open === path} onClick={() => setOpen(open === path ? null : path)}>
              <Icon name={open === path ? "down" : "right"} size={14} />
              <span className="evidence-name">{visible(titled(path, names))}</span>
              <span className="faint">{bytes(size)}</span>
            </button>
            {open === path && <File run={run.id} path={path} />}
          </li>
        ))}
      </ul>
    </details>
  );
}

function File({ run, path }: { run: string; path: string }) {
  const { t } = useSpeech();
  const { value, error, again } = useServer(`evidence/${run}/${path}`, () => api.evidence(run, path));
  const text = useRef<HTMLPreElement>(null);
  useEffect(() => {
    // The last lines say how it ended.
    text.current?.scrollTo(0, text.current.scrollHeight);
  }, [value]);
  if (error !== null) return <Problem error={error} onRetry={again} />;
  if (value === null) return <p className="loading">{t("loading")}</p>;
  if (value.text === "") return <p className="faint">{t("evidence.empty")}</p>;
  return (
    <>
      {value.cut > 0 && (
        <p className="faint">
          <Words text={t("evidence.cut", { size: bytes(value.cut), run })} />
        </p>
      )}
      <div className="code-block">
        <CopyButton text={() => value.text} label={t("copy.what", { what: path })} />
        <pre ref={text} className="output" tabIndex={0} aria-label={path}>
          {visible(value.text)}
        </pre>
      </div>
    </>
  );
}
