import { expect, it } from "vitest";
import { depths, withEvent, type Task } from "../../src/runs/task-tree";

const PLAN = {
  type: "tasks_planned",
  tasks: [
    { id: "one", mode: "execute", goal: "Write one", depends_on: [] },
    { id: "two", mode: "execute", goal: "Write two", depends_on: ["one"] },
  ],
};
const begin = (step: string, attempt = 1) => ({ type: "step_started", step, mode: "execute", attempt });
const end = (step: string, outcome: string) => ({ type: "step_finished", step, outcome, duration_ms: 1 });
const after = (...events: Array<{ type: string } & Record<string, unknown>>) => events.reduce(withEvent, [] as Task[]);
const states = (tasks: Task[]) => Object.fromEntries(tasks.map((task) => [task.id, task.state]));

it("tells how far each task is, also what the host adds, and not the making of the plan", () => {
  const tasks = after(begin("orchestrate"), PLAN, begin("one"), end("one", "failure"), begin("one", 2), end("one", "success"), begin("two"), begin("ethical"));
  expect(states(tasks)).toEqual({ one: "done", two: "running", ethical: "running" });
  expect(tasks[0]).toMatchObject({ starts: 2, goal: "Write one" });
  expect(tasks[1]?.after).toEqual(["one"]);
});

it("keeps what is done when the rest is planned again", () => {
  const again = { ...PLAN, tasks: [PLAN.tasks[0], { id: "three", mode: "execute", goal: "Write three", depends_on: ["one"] }] };
  const tasks = after(PLAN, begin("one"), end("one", "success"), begin("two"), end("two", "failure"), { type: "replanned", dropped: ["two"], added: ["three"] }, again);
  expect(states(tasks)).toEqual({ two: "replaced", one: "done", three: "waiting" });
});

it("leaves nothing running when the run is over", () => {
  expect(states(after(PLAN, begin("one"), { type: "run_finished" }))).toEqual({ one: "failed", two: "waiting" });
});

it("takes no harm from events that are not as they should be", () => {
  for (const odd of [{ type: "tasks_planned", tasks: [null, { id: 1 }] }, { type: "tasks_planned" }, { type: "replanned" }, { type: "step_finished" }, { type: "else" }])
    expect(after(odd)).toEqual([]);
});

it("tells who does a task, with what, for how much, and what is done now", () => {
  const progress = { type: "task_progress", step: "one", step_run: "r", agent: "claude-code", model: "m", cost_usd: 0.5, action: "Edit a.txt" };
  const tasks = after(PLAN, begin("one"), progress, PLAN);
  expect(tasks[0]).toMatchObject({ agent: "claude-code", model: "m", cost: 0.5, action: "Edit a.txt", state: "running" });
  expect(tasks[1]).toMatchObject({ agent: "", model: "", cost: null });
  expect(after(PLAN, { ...progress, step: "nobody" })).toEqual(after(PLAN));
});

it("puts a task below what it waits for, also where tasks wait for each other", () => {
  const task = (id: string, on: string[]) => ({ id, mode: "execute", goal: "", depends_on: on });
  const tasks = after({ type: "tasks_planned", tasks: [task("a", []), task("b", ["a"]), task("c", ["a", "b", "gone"]), task("x", ["y"]), task("y", ["x"])] });
  const deep = depths(tasks);
  expect(["a", "b", "c"].map((id) => deep.get(id))).toEqual([0, 1, 2]);
  expect(deep.get("x")).toBeLessThan(3);
});
