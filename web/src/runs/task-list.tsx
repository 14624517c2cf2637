/** The tasks of an orchestration as a tree, live, and a word to each of them. */

import { useState } from "react";
import { api } from "../api/client";
import { useSpeech } from "../i18n/language";
import { Problem } from "../ui/problem";
import { visible } from "../ui/visible";
import { depths, type Task, type TaskState } from "./task-tree";

const SIGNS: Record<TaskState, string> = { waiting: "○", running: "◐", done: "●", failed: "✕", replaced: "–" };

/** How far to the right a task stands, at most: narrow screens have no room for more. */
const DEEPEST = 4;

/** `over`: the run is not going on, but somebody may go on with it; words are kept until then. */
export function TaskList({ run, tasks, going, over }: { run: string; tasks: Task[]; going: boolean; over: boolean }) {
  const { t } = useSpeech();
  if (tasks.length === 0) return null;
  const deep = depths(tasks);
  return (
    <section className="tasks" aria-labelledby="tasks-title">
      <h2 id="tasks-title">{t("tasks")}</h2>
      {over && <p className="faint">{t("tasks.kept")}</p>}
      <ol>
        {tasks.map((task) => (
          <li key={task.id} data-state={task.state} data-depth={Math.min(DEEPEST, deep.get(task.id) ?? 0)}>
            <p className="task-facts">
              <span className="task-sign" role="img" aria-label={t(`task.${task.state}`)}>
                {SIGNS[task.state]}
              </span>
              <strong>{visible(task.id)}</strong>
              <span className="badge">{task.mode || t("task.host")}</span>
              {task.starts > 1 && <span className="faint">{t("tasks.starts", { count: task.starts })}</span>}
              {task.after.length > 0 && <span className="faint">{t("tasks.after", { names: task.after.join(", ") })}</span>}
            </p>
            <TaskDoer task={task} />
            {task.goal !== "" && <p className="task-goal">{visible(task.goal)}</p>}
            {task.mode !== "" && canBeSpokenTo(task, going, over) && <TaskWords run={run} task={task} going={going} />}
          </li>
        ))}
      </ol>
    </section>
  );
}

/** What is done is done; what was replaced is no task any more. */
function canBeSpokenTo(task: Task, going: boolean, over: boolean): boolean {
  if (going) return task.state === "waiting" || task.state === "running";
  return over && (task.state === "waiting" || task.state === "failed");
}

/** Who does it, with what, for how much, and what is done now. */
function TaskDoer({ task }: { task: Task }) {
  const { t } = useSpeech();
  if (task.agent === "") return null;
  return (
    <>
      <p className="task-doer">
        <span>{t("tasks.agent", { name: visible(task.agent) })}</span>
        {task.model !== "" && <span>{t("tasks.model", { name: visible(task.model) })}</span>}
        {task.cost !== null && <span>{t("tasks.cost", { amount: task.cost.toFixed(2) })}</span>}
      </p>
      {task.state === "running" && task.action !== "" && (
        <p className="task-action">
          <span className="sr-only">{t("tasks.now")} </span>
          <code>{visible(task.action)}</code>
        </p>
      )}
    </>
  );
}

const WORDS = ["say", "stop", "skip", "retry"] as const;
type Word = (typeof WORDS)[number];

function TaskWords({ run, task, going }: { run: string; task: Task; going: boolean }) {
  const { t } = useSpeech();
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const [told, setTold] = useState<{ word: Word; kept: boolean } | null>(null);
  const [error, setError] = useState<unknown>(null);
  const tell = async (word: Word) => {
    setBusy(true);
    setError(null);
    setTold(null);
    try {
      const { kept } = await api.tellTask(run, task.id, word, word === "retry" ? "" : text.trim());
      setTold({ word, kept });
      setText("");
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  const words = going ? WORDS : WORDS.filter((word) => word !== "stop");
  const possible = (word: Word) => (word === "say" ? text.trim() !== "" : word !== "retry" || !going || task.state === "running");
  return (
    <details className="task-words">
      <summary>{t("tasks.speak", { name: task.id })}</summary>
      <label>
        <span className="sr-only">{t("tasks.text")}</span>
        <input type="text" value={text} placeholder={t("tasks.text")} onChange={(event) => setText(event.target.value)} />
      </label>
      <div className="approval-buttons">
        {words.map((word) => (
          <button key={word} type="button" className="small" disabled={busy || !possible(word)} title={t(`speak.${word}What`)} onClick={() => void tell(word)}>
            {t(`speak.${word}`)}
          </button>
        ))}
      </div>
      <p role="status">{told !== null && t(told.kept ? "speak.kept" : `speak.${told.word}Told`)}</p>
      {error !== null && <Problem error={error} />}
    </details>
  );
}
