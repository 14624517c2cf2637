/** Tells the other tabs of this browser that a thread has moved on, so that they need not be looked at first. */

let channel: BroadcastChannel | null = null;

function open(): BroadcastChannel | null {
  if (typeof BroadcastChannel === "undefined") return null;
  channel ??= new BroadcastChannel("holon_threads");
  return channel;
}

export function tellTabs(thread: string): void {
  open()?.postMessage(thread);
}

/** Calls back with the id of a thread that moved on in another tab. */
export function hearTabs(act: (thread: string) => void): () => void {
  const here = open();
  const listener = (event: MessageEvent) => typeof event.data === "string" && act(event.data);
  here?.addEventListener("message", listener);
  return () => here?.removeEventListener("message", listener);
}
