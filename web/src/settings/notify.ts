/** Notices of the system, for people who look at something else: only when they asked for them, and never with a sound. */

import { recall, remember } from "./storage";

const KEY = "holon_notify";

/** Whether this browser can show any here; over plain HTTP from another machine it cannot. */
export const notifiable = (): boolean => typeof Notification !== "undefined" && globalThis.isSecureContext;

export const wantsNotices = (): boolean => notifiable() && recall(KEY) === "on" && Notification.permission === "granted";

/** What holds from now on: a browser may say no to a wish. */
export async function wishNotices(wish: boolean): Promise<boolean> {
  const granted = wish && notifiable() && (await Notification.requestPermission().catch(() => "denied")) === "granted";
  remember(KEY, granted ? "on" : null);
  return granted;
}

/** Shows one, unless the page is being looked at. */
export function notify(title: string, text: string): void {
  if (!wantsNotices() || document.visibilityState === "visible") return;
  const notice = new Notification(title, { body: text, silent: true, tag: "holon" });
  notice.onclick = () => {
    window.focus();
    notice.close();
  };
}
