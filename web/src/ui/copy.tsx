import { useState } from "react";
import { useSpeech } from "../i18n/language";
import { Icon } from "./icon";

/** Copies a text that is only made when it is asked for. */
export function CopyButton({ text, label }: { text: () => string | Promise<string>; label?: string }) {
  const { t } = useSpeech();
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    const made = await Promise.resolve(text()).catch(() => null);
    if (made === null || !(await put(made))) return;
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  const name = copied ? t("copied") : (label ?? t("copy"));
  return (
    <button type="button" className="plain copy" aria-label={name} title={name} onClick={copy}>
      <Icon name={copied ? "check" : "copy"} size={16} />
    </button>
  );
}

/** Whether it is in the clipboard now. Pages that came without TLS from another machine have only the old way. */
async function put(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return putOldWay(text);
  }
}

function putOldWay(text: string): boolean {
  const before = document.activeElement;
  const area = document.createElement("textarea");
  area.className = "sr-only";
  area.value = text;
  // What is outside an open dialog cannot be selected.
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (before instanceof HTMLElement) before.focus();
  return done;
}
