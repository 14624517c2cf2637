/** One thread as the page lives with it: its view, its stream, and what is on the way. */

import { api, Failure } from "../api/client";
import type { Decision, Mode, StreamEvent, Thread, Turn, Upload, Word } from "../api/contract";
import { follow, type Link, type Start } from "../api/follow";
import { Batch } from "./batch";
import { reduce } from "./reduce";
import { tellTabs } from "./tabs";
import { joined, since } from "./turns";
import { recall, remember } from "../settings/storage";
import { EMPTY, waiting, type View } from "./view";

export interface Outgoing {
  text: string;
  files: Upload[];
  mode: Mode;
}

export interface Snapshot {
  view: View;
  thread: Thread | null;
  turns: Turn[];
  /** The stored conversation has been read once. */
  loaded: boolean;
  /** A turn is under way. */
  busy: boolean;
  link: Link;
  /** Said, and not yet confirmed by the server. */
  outgoing: Outgoing | null;
  /** Said, and not taken by the server: to be given back to the person. */
  returned: Outgoing | null;
  /** Said while a turn was under way: sent one by one, each when the turn before it has ended. */
  queue: readonly Outgoing[];
  failure: unknown;
}

const START: Snapshot = {
  view: EMPTY, thread: null, turns: [], loaded: false, busy: false, link: "open", outgoing: null, returned: null, queue: [], failure: null,
};

const QUEUE = "holon_queue.";

/** What waited when the page was left. */
function recallQueue(id: string): Outgoing[] {
  try {
    const kept: unknown = JSON.parse(recall(QUEUE + id) ?? "[]");
    return Array.isArray(kept) ? (kept as Outgoing[]).filter((one) => typeof one?.text === "string" && Array.isArray(one.files)) : [];
  } catch {
    return [];
  }
}

export class Session {
  private state: Snapshot = START;
  private readonly listeners = new Set<() => void>();
  private stop: AbortController | null = null;
  /** A change of rights that the server has not confirmed. */
  private narrowing: Promise<void> | null = null;
  /** The next in the line is sent whatever became of the turn before. */
  private pressing = false;
  private readonly batch = new Batch((events) => this.absorb(events));

  constructor(
    readonly id: string,
    /** Title, state or order of the threads may have changed. */
    private readonly onNews: () => void,
  ) {
    this.state = { ...START, queue: recallQueue(id) };
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly snapshot = (): Snapshot => this.state;

  get following(): boolean {
    return this.stop !== null;
  }

  /** Reads the thread, and its events as far as they are not known. */
  async open(): Promise<void> {
    if (this.stop) return;
    try {
      const thread = await api.thread(this.id);
      this.set({ thread, turns: thread.turns, failure: null });
      if (this.stop) return;
      if (thread.last_seq > this.state.view.lastSeq || thread.state === "running") await this.run({ kind: "attach" }, thread.state === "running");
      this.set({ loaded: true });
    } catch (failure) {
      this.set({ failure, loaded: true });
    }
  }

  /** A thread just made has nothing to be read. */
  fresh(thread: Thread): this {
    this.set({ thread, loaded: true });
    return this;
  }

  /** Puts a message behind the turn under way. */
  readonly wait = (outgoing: Outgoing): void => this.line([...this.state.queue, outgoing]);

  /** Takes one out of the line again. */
  readonly unwait = (place: number): void => this.line(this.state.queue.filter((_, at) => at !== place));

  /** Stops what is under way for the first in the line. */
  async interrupt(): Promise<void> {
    this.pressing = true;
    if (this.state.busy) await this.cancel();
    else this.next();
  }

  private line(queue: readonly Outgoing[]): void {
    this.set({ queue });
    remember(QUEUE + this.id, queue.length > 0 ? JSON.stringify(queue) : null);
  }

  /** Sends the first in the line, if nothing else has to come first. */
  private next(): void {
    const [first, ...rest] = this.state.queue;
    const waits = waiting(this.state.view) !== null;
    const last = this.state.view.entries.at(-1);
    // After trouble a person looks first; what they stopped for the sake of the line goes on.
    const held = last?.kind === "trouble" && !this.pressing;
    if (first === undefined || this.state.busy || waits || held) return;
    this.pressing = false;
    this.line(rest);
    void this.say(first);
  }

  /** Sends a message. One that the server does not take comes back as `returned`, so that the words are not lost. */
  readonly say = async (outgoing: Outgoing): Promise<void> => {
    this.set({ outgoing, failure: null });
    const files = outgoing.files.map((file) => file.id);
    try {
      // Not even a moment later otherwise: whoever opens the thread now must find it under way.
      if (this.narrowing) await this.narrowed();
      await this.run({ kind: "say", message: outgoing.text, files, mode: outgoing.mode }, true);
    } catch {
      this.set({ returned: outgoing });
    } finally {
      this.set({ outgoing: null });
    }
  };

  /** Sets the rights of this thread's tools; what is said from now on waits until they hold. */
  async narrow(tools: Record<string, Word>): Promise<void> {
    const change = api.tools(this.id, tools).then(() => undefined);
    this.narrowing = change;
    try {
      await change;
    } finally {
      if (this.narrowing === change) this.narrowing = null;
    }
    await this.refresh();
  }

  private async narrowed(): Promise<void> {
    try {
      await this.narrowing;
    } catch (failure) {
      this.set({ failure });
      throw failure;
    }
  }

  /** The person has what came back. */
  readonly taken = (): void => {
    this.set({ returned: null });
  };

  async answer(interrupt: string, answers: string[] | undefined, decisions: Decision[] | undefined): Promise<void> {
    this.set({ failure: null });
    await this.run({ kind: "resume", interrupt, answers, decisions }, true);
  }

  async cancel(): Promise<void> {
    try {
      await api.cancel(this.id);
    } catch (failure) {
      this.set({ failure });
    }
  }

  /** Reads the thread again; its turns from a number on, since most of them stay as they are. */
  async refresh(from = 1): Promise<void> {
    try {
      const thread = await api.thread(this.id, from);
      this.set({ thread, turns: joined(this.state.turns, from, thread.turns) });
      if (!this.stop && thread.last_seq > this.state.view.lastSeq) await this.run({ kind: "attach" }, thread.state === "running");
    } catch (failure) {
      this.set({ failure });
    }
  }

  /** Reads it again after something was done to it here, and has the other tabs do the same. */
  async changed(): Promise<void> {
    tellTabs(this.id);
    await this.refresh();
  }

  /** Shows what went wrong with something that was done to the thread. */
  fail(failure: unknown): void {
    this.set({ failure });
  }

  forgive(): void {
    this.set({ failure: null });
  }

  close(): void {
    this.stop?.abort();
    this.stop = null;
  }

  private async run(start: Start, busy: boolean): Promise<void> {
    this.stop?.abort();
    const stop = new AbortController();
    this.stop = stop;
    this.set({ busy });
    try {
      await follow(
        {
          thread: this.id,
          after: this.state.view.lastSeq,
          signal: stop.signal,
          onEvent: (event) => {
            if (event.name === "turn" && start.kind !== "attach") tellTabs(this.id);
            this.batch.add(event);
          },
          onLink: (link) => this.set({ link }),
        },
        start,
      );
      this.batch.now();
    } catch (failure) {
      // Somebody else may have got ahead of us: what the thread holds is still to be shown.
      if (start.kind !== "attach" && failure instanceof Failure && failure.status === 409) setTimeout(() => void this.refresh(), 0);
      this.set({ failure });
      throw failure;
    } finally {
      if (this.stop === stop) {
        this.stop = null;
        this.set({ busy: false, link: "open" });
      }
    }
    if (!stop.signal.aborted && start.kind !== "attach") void this.settleUp();
    else if (!stop.signal.aborted && busy) void this.settleUp();
  }

  /** After a turn: its state, its layer, its place in the list. */
  private async settleUp(): Promise<void> {
    this.onNews();
    await this.refresh(since(this.state.turns));
    this.next();
  }

  private absorb(events: StreamEvent[]): void {
    const view = reduce(this.state.view, events);
    const said = events.some((event) => event.name === "turn");
    this.set(said ? { view, outgoing: null, loaded: true } : { view });
    if (said || events.some((event) => event.name === "title")) this.onNews();
  }

  private set(change: Partial<Snapshot>): void {
    this.state = { ...this.state, ...change };
    for (const listener of this.listeners) listener();
  }
}
