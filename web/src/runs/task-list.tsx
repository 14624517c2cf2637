/** The tasks of an orchestration, and a word to each of them while it goes on. */

import { useState } from "react";
import { api } from "../api/client";
import { useSpeech } from "../i18n/language";
import { Problem } from "../ui/problem";
import { visible } from "../ui/visible";
import type { Task, TaskState } from "./task-tree";

const SIGNS: Record<TaskState, string> = { waiting: "○", running: "◐", done: "●", failed: "✕", replaced: "–" };

export function TaskList({ run, tasks, going }: { run: string; tasks: Task[]; going: boolean }) {
  const { t } = useSpeech();
  if (tasks.length === 0) return null;
  return (
    <section className="tasks" aria-labelledby="tasks-title">
      <h2 id="tasks-title">{t("tasks")}</h2>
      <ol>
        {tasks.map((task) => (
          <li key={task.id} data-state={task.state}>
            <p className="task-facts">
              <span className="task-sign" role="img" aria-label={t(`task.${task.state}`)}>
                {SIGNS[task.state]}
              </span>
              <strong>{visible(task.id)}</strong>
              <span className="badge">{task.mode || t("task.host")}</span>
              {task.starts > 1 && <span className="faint">{t("tasks.starts", { count: task.starts })}</span>}
              {task.after.length > 0 && <span className="faint">{t("tasks.after", { names: task.after.join(", ") })}</span>}
            </p>
            {task.goal !== "" && <p className="task-goal">{visible(task.goal)}</p>}
            {going && task.mode !== "" && (task.state === "waiting" || task.state === "running") && <TaskWords run={run} task={task} />}
          </li>
        ))}
      </ol>
    </section>
  );
}

const WORDS = ["say", "stop", "skip", "retry"] as const;
type Word = (typeof WORDS)[number];

function TaskWords({ run, task }: { run: string; task: Task }) {
  const { t } = useSpeech();
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const [told, setTold] = useState<Word | null>(null);
  const [error, setError] = useState<unknown>(null);
  const tell = async (word: Word) => {
    setBusy(true);
    setError(null);
    setTold(null);
    try {
      await api.tellTask(run, task.id, word, word === "retry" ? "" : text.trim());
      setTold(word);
      setText("");
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  const possible = (word: Word) => (word === "say" ? text.trim() !== "" : word !== "retry" || task.state === "running");
  return (
    <details className="task-words">
      <summary>{t("tasks.speak", { name: task.id })}</summary>
      <label>
        <span className="sr-only">{t("tasks.text")}</span>
        <input type="text" value={text} placeholder={t("tasks.text")} onChange={(event) => setText(event.target.value)} />
      </label>
      <div className="approval-buttons">
        {WORDS.map((word) => (
          <button key={word} type="button" className="small" disabled={busy || !possible(word)} title={t(`speak.${word}What`)} onClick={() => void tell(word)}>
            {t(`speak.${word}`)}
          </button>
        ))}
      </div>
      <p role="status">{told !== null && t(`speak.${told}Told`)}</p>
      {error !== null && <Problem error={error} />}
    </details>
  );
}
