/** The conversation with what belongs to it: rows, composer, panel. */

import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore, type ReactNode } from "react";
import { useLocation } from "wouter";
import { api } from "../api/client";
import type { Info } from "../api/contract";
import type { Outgoing, Session } from "../conversation/session";
import { sessionOf } from "../conversation/sessions";
import { versions } from "../conversation/branches";
import { useFamily } from "../conversation/families";
import { waiting, type Entry, type Said } from "../conversation/view";
import { onWanted, takeWanted } from "../conversation/wanted";
import { useSpeech } from "../i18n/language";
import { NARROW, Panel } from "../panel/panel";
import { recall, remember } from "../settings/storage";
import { useMode } from "../settings/mode";
import { useMedia } from "../ui/drawer";
import { folder } from "../ui/figures";
import { catchFocus } from "../ui/focus-after";
import { Icon } from "../ui/icon";
import { Problem } from "../ui/problem";
import { Roll } from "../ui/roll";
import { Announcer } from "./announcer";
import { Composer } from "./composer";
import { EntryRow } from "./entry-row";
import { FindBar } from "./find-bar";
import { Queue } from "./queue";
import { SaidRow } from "./said-row";
import { TreeDialog } from "./tree-dialog";
import { Welcome } from "./welcome";

interface Props {
  id: string | null;
  info: Info | null;
  menu: ReactNode;
  onNews: () => void;
}

export function Chat({ id, info, menu, onNews }: Props) {
  return id === null ? <NewThread info={info} menu={menu} onNews={onNews} /> : <Conversation id={id} info={info} menu={menu} onNews={onNews} />;
}

/** Nothing said yet: the first message makes the thread. */
function NewThread({ info, menu, onNews }: Omit<Props, "id">) {
  const { t } = useSpeech();
  const [, navigate] = useLocation();
  const [workspace, setWorkspace] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const chosen = workspace ?? info?.default_workspace ?? info?.workspaces[0] ?? "";
  const send = async (outgoing: Outgoing) => {
    setError(null);
    try {
      const thread = await api.newThread(chosen);
      const session = sessionOf(thread.id, onNews).fresh(thread);
      void session.say(outgoing);
      navigate(`/t/${thread.id}`);
    } catch (failure) {
      setError(failure);
      throw failure;
    }
  };
  useEffect(() => {
    document.title = "Holon";
  }, []);
  return (
    <div className="chat chat-new">
      <header className="bar only-narrow">
        {menu}
        <span className="bar-title">{t("thread.new")}</span>
      </header>
      <Welcome info={info} workspace={chosen} onWorkspace={setWorkspace} />
      {error !== null && <Problem error={error} onClose={() => setError(null)} />}
      <Composer draft="new" info={info} ready={chosen !== ""} busy={false} waiting={false} onSend={send} onStop={() => undefined} />
    </div>
  );
}

const PANEL = "holon_panel";

function Conversation({ id, info, menu, onNews }: Props & { id: string }) {
  const { t } = useSpeech();
  const session = useMemo(() => sessionOf(id, onNews), [id, onNews]);
  const state = useSyncExternalStore(session.subscribe, session.snapshot);
  const narrow = useMedia(NARROW);
  // A column is a lasting choice; a drawer covers what is read, so it never opens by itself, not even when the window shrinks.
  const [column, setColumn] = useState(() => recall(PANEL) !== "closed");
  const [drawer, setDrawer] = useState(false);
  const panel = narrow ? drawer : column;
  const [mode, setMode] = useMode();
  const { view, thread } = state;

  useEffect(() => {
    void session.open();
    const back = () => document.visibilityState === "visible" && !session.following && void session.refresh();
    document.addEventListener("visibilitychange", back);
    return () => document.removeEventListener("visibilitychange", back);
  }, [session]);
  useEffect(() => {
    if (!narrow) setDrawer(false);
  }, [narrow]);
  const title = view.title ?? thread?.title ?? t("thread.untitled");
  useEffect(() => {
    // Seen from another tab: it works, or it waits.
    document.title = `${waiting(view) !== null ? "❓ " : state.busy ? "● " : ""}${title} – Holon`;
  }, [title, state.busy, view]);

  const showPanel = (open: boolean) => {
    if (narrow) return setDrawer(open);
    setColumn(open);
    remember(PANEL, open ? "open" : "closed");
  };
  const build = () => {
    setMode("build");
    // The next thing is to say it again.
    document.querySelector<HTMLElement>(".composer textarea")?.focus();
  };
  const goOn = () => {
    void session.say({ text: t("goOn.message"), files: [], mode });
    // The button goes away with the stop.
    catchFocus(".composer textarea");
  };
  const asked = waiting(view);
  const [, navigate] = useLocation();
  const [family, reloadFamily] = useFamily(id, state.turns.length);
  const [showTree, setShowTree] = useState(false);
  const [find, setFind] = useState<{ words: string; turn: number } | null>(null);
  const [row, setRow] = useState<string | null>(null);
  useEffect(() => {
    const look = () => {
      const wanted = takeWanted(id);
      if (wanted) setFind({ words: wanted.words, turn: wanted.turn });
    };
    look();
    return onWanted(look);
  }, [id]);
  const closeFind = useCallback(() => {
    setFind(null);
    setRow(null);
    document.querySelector<HTMLElement>(".composer textarea")?.focus();
  }, []);
  useEffect(() => {
    const key = (event: globalThis.KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.shiftKey && event.key.toLowerCase() === "f") {
        event.preventDefault();
        setFind({ words: "", turn: 0 });
      }
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, []);
  const again = useCallback(
    async (said: Said, text: string) => {
      try {
        const branch = await api.branch(id, said.turn);
        const other = sessionOf(branch.id, onNews);
        await other.open();
        void other.say({ text, files: said.files, mode: said.mode });
        reloadFamily();
        navigate(`/t/${branch.id}`);
      } catch (failure) {
        session.fail(failure);
        throw failure;
      }
    },
    [id, session, onNews, navigate, reloadFamily],
  );
  const versionsOf = useCallback((turn: number) => versions(family, id, turn), [family, id]);
  const goTo = useCallback((thread: string) => navigate(`/t/${thread}`), [navigate]);
  return (
    <div className="chat" data-panel={panel} data-mode={mode}>
      <header className="bar">
        {menu}
        <h1 className="bar-title" title={title}>
          {title}
        </h1>
        {thread && (
          <span className="bar-sub" title={thread.workspace}>
            {folder(thread.workspace)}
          </span>
        )}
        {family.length > 1 && (
          <button type="button" className="plain" aria-label={t("branch.tree")} title={t("branch.tree")} onClick={() => setShowTree(true)}>
            <Icon name="branch" />
          </button>
        )}
        <button type="button" className="plain" data-act="find" aria-label={t("find")} title={`${t("find")} (Ctrl+Shift+F)`} aria-expanded={find !== null} onClick={() => (find ? closeFind() : setFind({ words: "", turn: 0 }))}>
          <Icon name="search" />
        </button>
        <button type="button" className="plain" aria-label={t("panel")} title={t("panel")} aria-expanded={panel} onClick={() => showPanel(!panel)}>
          <Icon name="panel" />
        </button>
      </header>
      <section className="talk" inert={panel && narrow}>
        <h2 className="sr-only">{t("conversation")}</h2>
        {find && <FindBar entries={view.entries} begin={find} onRow={setRow} onClose={closeFind} />}
        <Rows session={session} onBuild={build} onGoOn={goOn} onAgain={again} versionsOf={versionsOf} onVersion={goTo} row={row} />
        {state.link === "lost" && (
          <p className="link-lost" role="status">
            <span className="spinner" /> {t("link.lost")}
          </p>
        )}
        {state.failure !== null && <Problem error={state.failure} onClose={() => session.forgive()} onRetry={state.loaded && thread ? undefined : () => void session.open()} />}
        <Queue queue={state.queue} busy={state.busy} onRemove={session.unwait} onNow={() => void session.interrupt()} />
        <Composer
          draft={id}
          info={info}
          busy={state.busy}
          ready={state.loaded && thread !== null}
          waiting={asked !== null}
          onSend={session.say}
          onWait={session.wait}
          returned={state.returned}
          onTaken={session.taken}
          onStop={() => void session.cancel()}
        />
      </section>
      {panel && (thread !== null || state.failure === null) && <Panel session={session} state={state} onClose={() => showPanel(false)} />}
      {showTree && <TreeDialog family={family} id={id} onClose={() => setShowTree(false)} />}
      <Announcer view={view} busy={state.busy} loaded={state.loaded} />
    </div>
  );
}

interface RowsProps {
  session: Session;
  onBuild: () => void;
  onGoOn: () => void;
  onAgain: (said: Said, text: string) => Promise<void>;
  versionsOf: (turn: number) => ReturnType<typeof versions>;
  onVersion: (thread: string) => void;
  /** The row to be seen. */
  row: string | null;
}

function Rows({ session, onBuild, onGoOn, onAgain, versionsOf, onVersion, row }: RowsProps) {
  const { t } = useSpeech();
  const { view, turns, busy, outgoing, loaded } = useSyncExternalStore(session.subscribe, session.snapshot);
  const states = useMemo(() => new Map(turns.map((turn) => [turn.number, turn.state])), [turns]);
  const answer = useCallback((...given: Parameters<Session["answer"]>) => session.answer(...given), [session]);
  const build = useCallback(() => onBuild(), []);
  const going = useRef(onGoOn);
  going.current = onGoOn;
  const goOn = useCallback(() => going.current(), []);
  const regenerate = useCallback(() => {
    const said = session.snapshot().view.entries.findLast((entry) => entry.kind === "said");
    if (said) void onAgain(said, said.text).catch(() => undefined);
  }, [session, onAgain]);
  // While an answer comes it changes with every piece, and its key does not.
  const lastAnswer = view.entries.findLast((entry) => entry.kind === "answer")?.key;
  const render = useCallback(
    (entry: Entry) => <EntryRow entry={entry} scope={session.id} turnState={states.get(entry.turn)} busy={busy} latest={entry.turn === view.turn && outgoing === null} onAnswer={answer} onBuild={build} onGoOn={goOn} onAgain={onAgain} onRegenerate={entry.key === lastAnswer ? regenerate : null} versionsOf={versionsOf} onVersion={onVersion} found={entry.key === row} />,
    [session, states, busy, outgoing, view.turn, answer, build, goOn, onAgain, regenerate, lastAnswer, versionsOf, onVersion, row],
  );
  if (!loaded && view.entries.length === 0 && outgoing === null) return <p className="loading">{t("loading")}</p>;
  const last = view.entries.at(-1);
  const thinking = busy && !((last?.kind === "answer" || last?.kind === "thought") && last.live) && !(last?.kind === "tool" && last.state === "running");
  return (
    <Roll
      items={view.entries}
      keyOf={keyOf}
      guess={guess}
      render={render}
      label={t("conversation")}
      toEnd={t("toEnd")}
      adding={outgoing !== null}
      goTo={row}
      footer={
        <>
          {outgoing && (
            <div className="entry entry-outgoing" data-kind="said">
              <SaidRow mode={outgoing.mode} text={outgoing.text} files={outgoing.files} at={null} />
            </div>
          )}
          {thinking && (
            <p className="working">
              <span className="dots" aria-hidden="true">
                <i />
                <i />
                <i />
              </span>
              {t("working")}
            </p>
          )}
        </>
      }
    />
  );
}

const keyOf = (entry: Entry): string => entry.key;

/** Near enough until the row is measured. */
function guess(entry: Entry): number {
  switch (entry.kind) {
    case "said":
      return 76 + 24 * Math.ceil(entry.text.length / 70);
    case "answer":
      return 24 + 25 * (Math.ceil(entry.text.length / 85) + (entry.text.match(/\n/g)?.length ?? 0) / 2);
    case "tool":
      return 50;
    case "asked":
      return 120;
    default:
      return 44;
  }
}
