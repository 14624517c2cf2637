/** Looks for words in the conversation in view, whose rows are not all in the page. */

import { useEffect, useMemo, useRef, useState } from "react";
import { nearest, rowsWith } from "../conversation/find";
import type { Entry } from "../conversation/view";
import { useSpeech } from "../i18n/language";
import { Icon } from "../ui/icon";

interface Props {
  entries: readonly Entry[];
  begin: { words: string; turn: number };
  onRow: (key: string | null) => void;
  onClose: () => void;
}

export function FindBar({ entries, begin, onRow, onClose }: Props) {
  const { t } = useSpeech();
  const [words, setWords] = useState(begin.words);
  const [at, setAt] = useState<number | null>(null);
  const field = useRef<HTMLInputElement>(null);
  const places = useMemo(() => rowsWith(entries, words), [entries, words]);
  useEffect(() => {
    setWords(begin.words);
    setAt(null);
    field.current?.focus();
  }, [begin]);
  const here = at === null ? nearest(entries, places, begin.turn) : Math.min(at, places.length - 1);
  const key = entries[places[here] ?? -1]?.key ?? null;
  useEffect(() => onRow(key), [key, onRow]);
  const step = (by: number) => places.length > 0 && setAt((here + by + places.length) % places.length);
  return (
    <form
      className="find-bar"
      role="search"
      aria-label={t("find")}
      onSubmit={(event) => {
        event.preventDefault();
        step(1);
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose();
        if (event.key === "Enter" && event.shiftKey) {
          event.preventDefault();
          step(-1);
        }
      }}
    >
      <input ref={field} type="search" value={words} aria-label={t("find")} placeholder={t("find")} onChange={(event) => (setWords(event.target.value), setAt(null))} />
      <span className="faint" role="status">
        {words.trim() === "" ? "" : places.length === 0 ? t("find.none") : t("find.of", { at: here + 1, count: places.length })}
      </span>
      <button type="button" className="plain" aria-label={t("find.before")} title={t("find.before")} disabled={places.length === 0} onClick={() => step(-1)}>
        <Icon name="left" size={16} />
      </button>
      <button type="submit" className="plain" aria-label={t("find.after")} title={t("find.after")} disabled={places.length === 0}>
        <Icon name="right" size={16} />
      </button>
      <button type="button" className="plain" aria-label={t("close")} title={t("close")} onClick={onClose}>
        <Icon name="cross" size={16} />
      </button>
    </form>
  );
}
