/** What happened in a run, as it happens. */

import { useEffect, useRef, useState } from "react";
import { Failure, request } from "../api/client";
import { SseParser } from "../api/sse";
import { useSpeech } from "../i18n/language";
import { clock } from "../ui/figures";
import { withEvent, type Task } from "./task-tree";

export interface RunEvent {
  seq: number;
  at: string;
  type: string;
  [field: string]: unknown;
}

/** Events kept for the page; the file of the run has them all. */
const KEPT = 500;
/** Between two attempts to reach the server again, at first and at most, in milliseconds. */
const [SOON, LATE] = [1000, 8000];
/** Told by the artifacts and the chat already, or too many to read. */
const QUIET = new Set(["message_delta", "reasoning_delta", "tool_output", "usage", "output", "message_restarted", "model_answered"]);

/** Follows a run to its end, again after a lost connection; `onTurn` when its state may have changed. */
export function useRunEvents(id: string, onTurn: () => void): { events: RunEvent[]; tasks: Task[]; lost: boolean } {
  const [events, setEvents] = useState<RunEvent[]>([]);
  const [tasks, setTasks] = useState<Task[]>([]);
  const [lost, setLost] = useState(false);
  const turn = useRef(onTurn);
  turn.current = onTurn;
  useEffect(() => {
    const stop = new AbortController();
    let after = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const attach = async (before: number): Promise<void> => {
      let ended = false;
      let wait = before;
      try {
        const response = await request(`/api/runs/${encodeURIComponent(id)}/events?after=${after}`, { signal: stop.signal });
        setLost(false);
        if (before > SOON) turn.current();
        wait = SOON;
        const parser = new SseParser((message) => {
          if (message.event === "done") ended = true;
          if (message.event !== "run") return;
          const event = parse(message.data);
          if (event === null || event.seq <= after) return;
          after = event.seq;
          if (["gate_reached", "gate_decided", "run_finished", "artifact_accepted", "step_finished"].includes(event.type)) turn.current();
          setTasks((before) => withEvent(before, event));
          if (!QUIET.has(event.type)) setEvents((before) => [...before, event].slice(-KEPT));
        });
        const decoder = new TextDecoder();
        const reader = response.body?.getReader();
        for (;;) {
          const piece = await reader?.read();
          if (!piece || piece.done) break;
          parser.push(decoder.decode(piece.value, { stream: true }));
        }
      } catch (error) {
        // A lost connection is taken up again below; a refusal shows in the page's own request.
        ended = error instanceof Failure && !error.offline && error.status < 500;
      }
      if (ended) return turn.current();
      if (stop.signal.aborted) return;
      setLost(true);
      timer = setTimeout(() => void attach(Math.min(LATE, wait * 2)), wait);
    };
    void attach(SOON);
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [id]);
  return { events, tasks, lost };
}

function parse(data: string): RunEvent | null {
  try {
    const event = JSON.parse(data) as RunEvent;
    return typeof event.seq === "number" && typeof event.type === "string" ? event : null;
  } catch {
    return null;
  }
}

export function RunTimeline({ events, open }: { events: RunEvent[]; open: boolean }) {
  const { t, named, language } = useSpeech();
  if (events.length === 0) return null;
  return (
    <details className="timeline" open={open}>
      <summary>{t("timeline", { count: events.length })}</summary>
      <ol>
        {events.map((event) => (
          <li key={event.seq} data-type={event.type}>
            <time dateTime={event.at}>{clock(event.at, language)}</time> {named("body", event.type)} <span className="timeline-detail">{detail(event)}</span>
          </li>
        ))}
      </ol>
    </details>
  );
}

/** The few fields that say most. */
function detail(event: RunEvent): string {
  const fields = ["phase", "step", "mode", "tool", "summary", "verdict", "path", "command", "exit_code", "decision", "outcome", "message", "reason", "limit"];
  return fields
    .map((field) => event[field])
    .filter((value) => typeof value === "string" || typeof value === "number")
    .join(" · ");
}
