import { expect, it } from "vitest";
import { inOrder, stepNames, titled } from "../../src/runs/evidence-names";

it("what the agent said comes first, then the checks by their numbers, then the rest, and steps after the run itself", () => {
  const files = ["steps/r-2/agent.log", "events.jsonl", "check-10.log", "model.yaml", "check-2.log", "steps/r-1/check-1.log", "steps/r-1/agent.log", "agent.log"].map((path) => ({ path }));
  expect(inOrder(files).map((file) => file.path)).toEqual([
    "agent.log", "check-2.log", "check-10.log", "model.yaml", "events.jsonl", "steps/r-1/agent.log", "steps/r-1/check-1.log", "steps/r-2/agent.log",
  ]);
});

it("a step's file is called by the name of its step, where the manifest has one", () => {
  const names = stepNames({ metadata: { flow: { steps: [{ name: "plan", run_id: "r-1" }, { name: "execute" }, null] } } });
  expect(["agent.log", "steps/r-1/agent.log", "steps/r-9/agent.log", "steps/r-9/steps/r-1/agent.log"].map((path) => titled(path, names))).toEqual([
    "agent.log", "plan/agent.log", "r-9/agent.log", "r-9/plan/agent.log",
  ]);
  for (const odd of [null, {}, { metadata: null }, { metadata: { flow: null } }, { metadata: { flow: { steps: "x" } } }]) expect(stepNames(odd).size).toBe(0);
});
