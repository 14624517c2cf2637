import { expect, it } from "vitest";
import { withEvent, type Task } from "../../src/runs/task-tree";

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
