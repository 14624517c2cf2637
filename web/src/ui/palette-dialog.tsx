/** A field and what its words mean: one of it is chosen with the arrows and done with Enter. */

import { useId, useRef, useState, type KeyboardEvent } from "react";
import { useSpeech } from "../i18n/language";
import { Dialog } from "./dialog";
import { matching, type Command } from "./palette";

/** More are not shown: another word finds them. */
const MOST = 40;

export default function PaletteDialog({ commands, onClose }: { commands: readonly Command[]; onClose: () => void }) {
  const { t } = useSpeech();
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const list = useId();
  const box = useRef<HTMLUListElement>(null);
  const found = matching(commands, words).slice(0, MOST);
  const here = Math.min(at, found.length - 1);
  const act = (command: Command | undefined) => {
    if (!command) return;
    onClose();
    // After the dialog has given the focus back.
    setTimeout(command.act);
  };
  const move = (to: number) => {
    setAt(to);
    box.current?.children[to]?.scrollIntoView({ block: "nearest" });
  };
  const key = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing || event.keyCode === 229) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (found.length > 0) move((here + (event.key === "ArrowDown" ? 1 : -1) + found.length) % found.length);
    } else if (event.key === "Enter") {
      event.preventDefault();
      act(found[here]);
    }
  };
  return (
    <Dialog title={t("palette")} onClose={onClose}>
      <input
        type="text"
        data-first
        role="combobox"
        className="palette-words"
        value={words}
        aria-label={t("palette.words")}
        placeholder={t("palette.words")}
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={found.length > 0 ? `${list}.${here}` : undefined}
        onChange={(event) => {
          setWords(event.target.value);
          setAt(0);
        }}
        onKeyDown={key}
      />
      {found.length === 0 && (
        <p className="faint" role="status">
          {t("palette.none")}
        </p>
      )}
      <ul ref={box} id={list} role="listbox" aria-label={t("palette")} className="palette-list" data-testid="palette">
        {found.map((command, place) => (
          <li key={command.id} id={`${list}.${place}`} role="option" aria-selected={place === here} onClick={() => act(command)} onPointerMove={() => setAt(place)}>
            <span>{command.label}</span>
            {command.hint && <span className="faint">{command.hint}</span>}
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
