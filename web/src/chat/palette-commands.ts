/** What the palette offers: places, threads, the mode, the language. */

import type { Thread } from "../api/contract";
import type { Speech } from "../i18n/language";
import { folder } from "../ui/figures";
import type { Command } from "../ui/palette";

interface Means {
  speech: Speech;
  threads: readonly Thread[];
  /** The thread in view. */
  active: string | null;
  go: (path: string) => void;
  setMode: (mode: "plan" | "build") => void;
}

export function paletteCommands({ speech, threads, active, go, setMode }: Means): Command[] {
  const { t, choose } = speech;
  const page = (path: string, label: string): Command => ({ id: path, label, hint: t("pages"), act: () => go(path) });
  const write = () => document.querySelector<HTMLElement>(".composer textarea")?.focus();
  const commands: Command[] = [
    { id: "new", label: t("thread.new"), act: () => go("/") },
    { id: "plan", label: t("palette.plan"), hint: "Shift+Tab", act: () => (setMode("plan"), write()) },
    { id: "build", label: t("palette.build"), hint: "Shift+Tab", act: () => (setMode("build"), write()) },
  ];
  const press = (id: string, label: string, selector: string, hint?: string) =>
    commands.push({ id, label, ...(hint ? { hint } : {}), act: () => document.querySelector<HTMLElement>(selector)?.click() });
  if (active !== null) {
    press("find", t("find"), '[data-act="find"]', "Ctrl+Shift+F");
    press("more", t("palette.thread"), '.thread-item[data-active="true"] .thread-delete');
  }
  commands.push({ id: "search", label: t("search"), act: () => document.querySelector<HTMLElement>(".thread-search")?.focus() });
  commands.push(page("/runs", t("page.runs")), page("/audit", t("page.audit")), page("/modes", t("page.modes")));
  commands.push({ id: "en", label: "English", hint: t("language"), act: () => choose("en") }, { id: "zh", label: "中文", hint: t("language"), act: () => choose("zh") });
  for (const thread of threads)
    if (thread.id !== active) commands.push({ id: thread.id, label: thread.title ?? t("thread.untitled"), hint: folder(thread.workspace), act: () => go(`/t/${thread.id}`) });
  return commands;
}
