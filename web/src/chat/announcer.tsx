/** Says what happens to people who do not see it: the end of an answer, a question, trouble. Never every token. */

import { useEffect, useRef, useState } from "react";
import type { View } from "../conversation/view";
import { useSpeech } from "../i18n/language";
import { told } from "../ui/told";
import { notify } from "../settings/notify";
import { spoken } from "./spoken";

/** Longer answers are announced by their beginning. */
const LONGEST = 280;

export function Announcer({ view, busy, loaded }: { view: View; busy: boolean; loaded: boolean }) {
  const speech = useSpeech();
  const { t } = speech;
  const [words, setWords] = useState("");
  const seen = useRef<{ count: number; busy: boolean } | null>(null);
  useEffect(() => {
    const tell = (text: string) => {
      setWords(text);
      notify(view.title ?? t("thread.untitled"), text);
    };
    if (!loaded) return;
    const before = seen.current;
    seen.current = { count: view.entries.length, busy };
    // What was there when the page opened is read in place, not announced.
    if (before === null) return;
    const fresh = view.entries.slice(before.count);
    const asked = fresh.findLast((entry) => entry.kind === "asked");
    const trouble = fresh.findLast((entry) => entry.kind === "trouble");
    if (asked) tell(t("announce.asked"));
    else if (trouble?.kind === "trouble") tell(t("announce.trouble", { text: told(speech, trouble.code, trouble.text).what }));
    else if (!before.busy && busy) setWords(t("announce.working"));
    else if (before.busy && !busy) {
      const last = view.entries.findLast((entry) => ["answer", "said", "asked", "trouble"].includes(entry.kind));
      // A question or trouble has been announced when it came, and counts more than the words before it.
      if (last?.kind === "asked" || last?.kind === "trouble") return;
      tell(last?.kind === "answer" ? t("announce.answer", { text: spoken(last.text).slice(0, LONGEST) }) : t("announce.done"));
    }
  }, [view, busy, loaded, speech]);
  return (
    <div className="sr-only" role="status" aria-live="polite" data-testid="announcer">
      {words}
    </div>
  );
}
