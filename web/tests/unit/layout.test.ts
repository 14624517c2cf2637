import { describe, expect, it } from "vitest";
import type { GraphNode, TaskGraph } from "../../src/api/contract";
import { layout, nodesOf } from "../../src/panel/layout";
import { readMode } from "../../src/settings/mode";
import { offsets, rowAt } from "../../src/ui/roll";

const node = (id: string, status: GraphNode["status"] = "pending"): GraphNode => ({ id, type: "edit", title: id, phase: "editing", status, retries: 0 });
const graph = (nodes: TaskGraph["nodes"]): TaskGraph => ({
  graphId: "g", goal: "", nodes, status: "running", cursor: { branchId: "main", nodeId: "b" },
  edges: [{ from: "a", to: "b", kind: "normal" }, { from: "b", to: "c", kind: "fallback" }, { from: "c", to: "nowhere", kind: "normal" }],
});

describe("the task graph", () => {
  it("is drawn from top to bottom with the live step marked", () => {
    const placed = layout(graph([node("a", "done"), node("b", "running"), node("c")]));
    const [a, b, c] = placed.nodes;
    expect(a && b && c && a.y < b.y && b.y < c.y).toBe(true);
    expect(placed.nodes.map((one) => one.live)).toEqual([false, true, false]);
    expect(placed.edges.map((edge) => [edge.from, edge.to, edge.fallback, edge.live])).toEqual([["a", "b", false, true], ["b", "c", true, false]]);
    expect(placed.edges.every((edge) => edge.path.startsWith("M"))).toBe(true);
  });

  it("takes its steps as a list or by name", () => {
    const table = { a: node("a"), b: node("b") };
    expect(nodesOf(graph(table)).map((one) => one.id)).toEqual(["a", "b"]);
    expect(layout(graph([])).nodes).toEqual([]);
  });
});

describe("the part of a long list in view", () => {
  it("is found by height", () => {
    const tops = offsets([10, 20, 30], (height) => height);
    expect([...tops]).toEqual([0, 10, 30, 60]);
    expect([-5, 0, 9, 10, 29, 30, 59, 60, 999].map((y) => rowAt(tops, y))).toEqual([0, 0, 0, 1, 1, 2, 2, 2, 2]);
    expect(rowAt(offsets([], () => 1), 5)).toBe(0);
  });
});

describe("the mode", () => {
  it("is build unless plan was chosen", () => {
    expect([null, "", "build", "plan", "PLAN", "yolo"].map(readMode)).toEqual(["build", "build", "build", "plan", "build", "build"]);
  });
});
