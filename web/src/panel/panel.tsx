/** Beside the conversation: where the work stands, what it changed, what it cost. */

import { useState, type ReactNode } from "react";
import type { Session, Snapshot } from "../conversation/session";
import { useSpeech } from "../i18n/language";
import { recall, remember } from "../settings/storage";
import { useDrawer, useMedia } from "../ui/drawer";
import { Icon } from "../ui/icon";
import { later } from "../ui/later";
import { Changes } from "./changes";
import { Rights } from "./rights";
import { SupervisorPart } from "./supervisor-part";
import { Todos } from "./todos";
import { UsagePart } from "./usage-part";

const GraphPart = later(() => import("./graph-part"));

/** Below this the panel covers the conversation. */
export const NARROW = "(max-width: 1179px)";

interface Props {
  session: Session;
  state: Snapshot;
  onClose: () => void;
}

export function Panel({ session, state, onClose }: Props) {
  const { t } = useSpeech();
  const drawer = useDrawer<HTMLElement>(useMedia(NARROW), onClose);
  const { view, thread } = state;
  return (
    <>
      <div className="scrim panel-scrim" onClick={onClose} />
      <aside ref={drawer} className="panel" aria-label={t("panel")}>
        <header className="panel-head">
          <h2>{t("panel")}</h2>
          <button type="button" className="plain" aria-label={t("close")} onClick={onClose}>
            <Icon name="cross" />
          </button>
        </header>
        <Part name="progress" title={t("progress")}>
          {view.graph && <GraphPart graph={view.graph} />}
          {view.todos.length > 0 && <Todos todos={view.todos} />}
          {!view.graph && view.todos.length === 0 && <p className="faint">{t("progress.none")}</p>}
        </Part>
        <Part name="changes" title={t("changes")}>
          <Changes session={session} state={state} />
        </Part>
        <Part name="supervisor" title={t("supervisor")}>
          <SupervisorPart thread={session.id} supervision={view.supervision} busy={state.busy} />
        </Part>
        <Part name="usage" title={t("usage")}>
          <UsagePart usage={view.usage ?? thread?.usage ?? null} model={thread?.model ?? null} agent={thread?.agent ?? null} />
        </Part>
        <Part name="rights" title={t("rights")} closed>
          <Rights session={session} tools={thread?.tools ?? {}} />
        </Part>
      </aside>
    </>
  );
}

/** A part that can be folded away; the choice is remembered. */
function Part({ name, title, closed = false, children }: { name: string; title: string; closed?: boolean; children: ReactNode }) {
  const key = `holon_part_${name}`;
  const [open, setOpen] = useState(() => (recall(key) ?? (closed ? "closed" : "open")) === "open");
  return (
    <section className="part" data-part={name}>
      <h3>
        <button
          type="button"
          className="part-head"
          aria-expanded={open}
          onClick={() => {
            remember(key, open ? "closed" : "open");
            setOpen(!open);
          }}
        >
          <Icon name={open ? "down" : "right"} size={14} /> {title}
        </button>
      </h3>
      {open && <div className="part-body">{children}</div>}
    </section>
  );
}
