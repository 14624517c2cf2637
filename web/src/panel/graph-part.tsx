/** The task graph with its live node; the same as a list for those who do not see it. */

import { Handle, Position, ReactFlow, type Edge, type EdgeProps, type Node, type NodeProps } from "@xyflow/react";
import "@xyflow/react/dist/base.css";
import { memo, useMemo } from "react";
import type { GraphNode, TaskGraph } from "../api/contract";
import { useSpeech } from "../i18n/language";
import { HEIGHT, layout, nodesOf, WIDTH } from "./layout";

type Step = Node<{ step: GraphNode; live: boolean }, "step">;

const SIGNS: Record<GraphNode["status"], string> = { pending: "○", running: "◐", done: "●", failed: "✕", skipped: "–" };

const StepNode = memo(function StepNode({ data }: NodeProps<Step>) {
  const { named } = useSpeech();
  const { step, live } = data;
  return (
    <div className="step" data-status={step.status} data-live={live} title={step.title}>
      <Handle type="target" position={Position.Top} isConnectable={false} />
      <span className="step-kind">
        {SIGNS[step.status]} {named("node", step.type)}
        {step.retries > 0 && <span className="faint"> ×{step.retries + 1}</span>}
      </span>
      <span className="step-title">{step.title}</span>
      <Handle type="source" position={Position.Bottom} isConnectable={false} />
    </div>
  );
});

type Way = Edge<{ path: string; fallback: boolean; live: boolean }, "way">;

function WayEdge({ data }: EdgeProps<Way>) {
  return <path className={`way${data?.fallback ? " way-fallback" : ""}${data?.live ? " way-live" : ""}`} d={data?.path} />;
}

const NODE_TYPES = { step: StepNode };
const EDGE_TYPES = { way: WayEdge };

/** The picture is hidden from readers, who get the list; so its credit must not catch their focus. */
function unfocus(canvas: HTMLElement | null): void {
  for (const link of canvas?.querySelectorAll("a") ?? []) link.tabIndex = -1;
}

export default function GraphPart({ graph }: { graph: TaskGraph }) {
  const { t, named } = useSpeech();
  const placed = useMemo(() => layout(graph), [graph]);
  const nodes = useMemo<Step[]>(
    () =>
      placed.nodes.map(({ node, x, y, live }) => ({
        id: node.id, type: "step", position: { x, y }, width: WIDTH, height: HEIGHT, data: { step: node, live },
        draggable: false, connectable: false, selectable: false, focusable: false,
      })),
    [placed],
  );
  const edges = useMemo<Way[]>(
    () =>
      placed.edges.map((edge) => ({
        id: edge.id, source: edge.from, target: edge.to, type: "way", focusable: false, selectable: false,
        data: { path: edge.path, fallback: edge.fallback, live: edge.live },
      })),
    [placed],
  );
  const steps = nodesOf(graph);
  const done = steps.filter((step) => step.status === "done" || step.status === "skipped").length;
  return (
    <div className="graph">
      <p className="graph-goal" title={graph.goal}>
        <span className={`badge badge-${graph.status === "failed" ? "bad" : graph.status === "done" ? "good" : "plain"}`}>{named("graph", graph.status)}</span>{" "}
        <span className="faint">{t("graph.progress", { done, all: steps.length })}</span>
        {graph.unverified && <span className="badge badge-warn">{t("graph.unverified")}</span>}
      </p>
      <div ref={unfocus} className="graph-canvas" aria-hidden="true" style={{ height: Math.min(420, placed.height * Math.min(1, 316 / Math.max(1, placed.width)) + 16) }}>
        <ReactFlow
          key={`${graph.graphId}.${steps.length}`}
          nodes={nodes}
          edges={edges}
          nodeTypes={NODE_TYPES}
          edgeTypes={EDGE_TYPES}
          fitView
          fitViewOptions={{ padding: 0.03, maxZoom: 1 }}
          minZoom={0.3}
          maxZoom={1.5}
          zoomOnScroll={false}
          zoomOnDoubleClick={false}
          preventScrolling={false}
          nodesFocusable={false}
          edgesFocusable={false}
          disableKeyboardA11y
        />
      </div>
      <ol className="sr-only" aria-label={t("progress")}>
        {steps.map((step) => (
          <li key={step.id} aria-current={step.id === graph.cursor.nodeId ? "step" : undefined}>
            {step.title}: {named("status", step.status)}
          </li>
        ))}
      </ol>
    </div>
  );
}
