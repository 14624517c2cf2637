/** Where the steps of a task graph are drawn: from top to bottom, other ways beside the main one. */

import dagre from "@dagrejs/dagre";
import type { GraphNode, TaskGraph } from "../api/contract";

export const WIDTH = 156;
export const HEIGHT = 46;

export interface Placed {
  node: GraphNode;
  x: number;
  y: number;
  live: boolean;
}

export interface Layout {
  nodes: Placed[];
  edges: { id: string; from: string; to: string; fallback: boolean; live: boolean; path: string }[];
  width: number;
  height: number;
}

/** The nodes as a list, whichever way they were sent. */
export function nodesOf(graph: TaskGraph): GraphNode[] {
  return Array.isArray(graph.nodes) ? graph.nodes : Object.values(graph.nodes);
}

export function layout(graph: TaskGraph): Layout {
  const nodes = nodesOf(graph);
  const known = new Set(nodes.map((node) => node.id));
  const edges = graph.edges.filter((edge) => known.has(edge.from) && known.has(edge.to));
  const plan = new dagre.graphlib.Graph();
  plan.setGraph({ rankdir: "TB", nodesep: 18, ranksep: 26, marginx: 4, marginy: 4 });
  plan.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) plan.setNode(node.id, { width: WIDTH, height: HEIGHT });
  for (const edge of edges) plan.setEdge(edge.from, edge.to);
  dagre.layout(plan);
  const active = graph.status === "running" || graph.status === "ready";
  const live = active ? graph.cursor.nodeId : null;
  const done = new Set(nodes.filter((node) => node.status === "done" || node.status === "skipped").map((node) => node.id));
  const size = plan.graph() as { width?: number; height?: number };
  return {
    nodes: nodes.map((node) => {
      const at = plan.node(node.id) as { x: number; y: number };
      return { node, x: at.x - WIDTH / 2, y: at.y - HEIGHT / 2, live: node.id === live };
    }),
    edges: edges.map((edge) => ({
      id: `${edge.from}-${edge.to}-${edge.kind}`, from: edge.from, to: edge.to, fallback: edge.kind === "fallback",
      live: edge.to === live && done.has(edge.from),
      path: curve((plan.edge(edge.from, edge.to) as { points?: Point[] }).points ?? []),
    })),
    width: size.width ?? 0,
    height: size.height ?? 0,
  };
}

interface Point {
  x: number;
  y: number;
}

/** A line through the points with its corners rounded; around other steps, since the layout chose the points so. */
function curve(points: Point[]): string {
  const [first, ...rest] = points;
  const last = points.at(-1);
  if (!first || !last) return "";
  let path = `M${first.x},${first.y}`;
  for (let at = 0; at + 1 < rest.length; at++) {
    const [here, next] = [rest[at], rest[at + 1]];
    if (here && next) path += ` Q${here.x},${here.y} ${(here.x + next.x) / 2},${(here.y + next.y) / 2}`;
  }
  return `${path} L${last.x},${last.y}`;
}
