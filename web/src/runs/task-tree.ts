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
  /** Who does it, with which model, and what its runs cost so far in dollars; empty or null where nobody said so. */
  agent: string;
  model: string;
  cost: number | null;
  /** What is done now. */
  action: string;
}

/** What is known of a task that nobody has begun. */
const UNSAID = { starts: 0, agent: "", model: "", cost: null, action: "" };

type Told = { type: string } & Record<string, unknown>;

/** The tasks after one more event. */
export function withEvent(tasks: Task[], event: Told): Task[] {
  switch (event.type) {
    case "tasks_planned":
      return planned(tasks, event.tasks);
    case "step_started":
      return started(tasks, event);
    case "task_progress":
      return changed(tasks, event.step, (task) => ({
        ...task,
        agent: text(event.agent),
        model: text(event.model),
        cost: typeof event.cost_usd === "number" ? event.cost_usd : null,
        action: text(event.action),
      }));
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
    return [{ ...UNSAID, ...old, ...fresh, state: again ? "waiting" : old.state }];
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
  return [...tasks, { ...UNSAID, id, mode: text(event.mode), goal: "", after: [], state: "running", starts }];
}

/** How many tasks have to come before each, one after the other. */
export function depths(tasks: Task[]): Map<string, number> {
  const known = new Map<string, number>();
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const depth = (id: string, above: Set<string>): number => {
    const task = byId.get(id);
    if (task === undefined || above.has(id)) return 0;
    const found = known.get(id);
    if (found !== undefined) return found;
    const before = task.after.filter((one) => byId.has(one)).map((one) => 1 + depth(one, new Set([...above, id])));
    const deep = Math.max(0, ...before);
    known.set(id, deep);
    return deep;
  };
  for (const task of tasks) depth(task.id, new Set());
  return known;
}

function changed(tasks: Task[], id: unknown, change: (task: Task) => Task): Task[] {
  return tasks.map((task) => (task.id === id ? change(task) : task));
}

const text = (value: unknown) => (typeof value === "string" ? value : "");
const names = (value: unknown) => (Array.isArray(value) ? value.filter((name) => typeof name === "string") : []);
