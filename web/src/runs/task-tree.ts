/** The tasks of an orchestration, as its events tell them. */

export type TaskState = "waiting" | "running" | "done" | "failed" | "replaced";

export interface Task {
  id: string;
  mode: string;
  goal: string;
  after: string[];
  state: TaskState;
  /** How often it was begun. */
  starts: number;
}

type Told = { type: string } & Record<string, unknown>;

/** The tasks after one more event. */
export function withEvent(tasks: Task[], event: Told): Task[] {
  switch (event.type) {
    case "tasks_planned":
      return planned(tasks, event.tasks);
    case "step_started":
      return started(tasks, event);
    case "step_finished":
      return changed(tasks, event.step, (task) => ({ ...task, state: event.outcome === "success" ? "done" : "failed" }));
    case "replanned":
      return Array.isArray(event.dropped)
        ? tasks.map((task) => ((event.dropped as unknown[]).includes(task.id) && task.state !== "done" ? { ...task, state: "replaced" } : task))
        : tasks;
    case "run_finished":
      return tasks.map((task) => (task.state === "running" ? { ...task, state: "failed" } : task));
    default:
      return tasks;
  }
}

/** A plan that is told again keeps what is known of its tasks. */
function planned(before: Task[], told: unknown): Task[] {
  if (!Array.isArray(told)) return before;
  const known = new Map(before.map((task) => [task.id, task]));
  const tasks = told.flatMap((one: Record<string, unknown> | null): Task[] => {
    if (one === null || typeof one.id !== "string") return [];
    const old = known.get(one.id);
    const fresh = { id: one.id, mode: text(one.mode), goal: text(one.goal), after: names(one.depends_on) };
    const again = old === undefined || old.state === "replaced";
    return [{ ...fresh, state: again ? "waiting" : old.state, starts: old?.starts ?? 0 }];
  });
  const named = new Set(tasks.map((task) => task.id));
  return [...before.filter((task) => !named.has(task.id)), ...tasks];
}

/** What the host adds to a plan is told by its start alone; making the plan is no task. */
function started(tasks: Task[], event: Told): Task[] {
  const id = text(event.step);
  if (tasks.length === 0 || id === "orchestrate") return tasks;
  const starts = typeof event.attempt === "number" ? event.attempt : 1;
  if (tasks.some((task) => task.id === id)) return changed(tasks, id, (task) => ({ ...task, state: "running", starts }));
  return [...tasks, { id, mode: text(event.mode), goal: "", after: [], state: "running", starts }];
}

function changed(tasks: Task[], id: unknown, change: (task: Task) => Task): Task[] {
  return tasks.map((task) => (task.id === id ? change(task) : task));
}

const text = (value: unknown) => (typeof value === "string" ? value : "");
const names = (value: unknown) => (Array.isArray(value) ? value.filter((name) => typeof name === "string") : []);
