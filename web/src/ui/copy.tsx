import { useState } from "react";
import { useSpeech } from "../i18n/language";
import { Icon } from "./icon";

/** Copies a text that is only made when it is asked for. */
export function CopyButton({ text, label }: { text: () => string; label?: string }) {
  const { t } = useSpeech();
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
      setCopied(true);
      setTimeout(() => setCopied(false), 1500);
    } catch {
      // Without permission there is nothing to say: the text can still be selected.
    }
  };
  const name = copied ? t("copied") : (label ?? t("copy"));
  return (
    <button type="button" className="plain copy" aria-label={name} title={name} onClick={copy}>
      <Icon name={copied ? "check" : "copy"} size={16} />
    </button>
  );
}
