/** Code with colours; nothing in it may hide. */

import { Fragment, memo, useMemo } from "react";
import { highlight, highlightLines, languageOf, type Piece } from "./highlight";
import { visible } from "./visible";

export function Pieces({ pieces }: { pieces: Piece[] }) {
  return pieces.map(({ text, tone }, at) =>
    tone === null ? <Fragment key={at}>{visible(text)}</Fragment> : (
      <span key={at} className={`tone-${tone}`}>
        {visible(text)}
      </span>
    ),
  );
}

/** A text in the colours of a language, by its name or by the name of a file. */
export const Code = memo(function Code({ text, name }: { text: string; name: string }) {
  const pieces = useMemo(() => highlight(text, languageOf(name)), [text, name]);
  return <Pieces pieces={pieces} />;
});

/** A part of a file with the numbers of its lines. */
export const NumberedCode = memo(function NumberedCode({ text, name, from, label }: { text: string; name: string; from: number; label: string }) {
  const lines = useMemo(() => highlightLines(text.replace(/\n$/, ""), languageOf(name)), [text, name]);
  return (
    <pre className="output numbered" tabIndex={0} aria-label={label}>
      {lines.map((pieces, at) => (
        <span key={at} className="numbered-line">
          <span className="numbered-no" data-no={from + at} aria-hidden="true" />
          <code>
            <Pieces pieces={pieces} />
            {"\n"}
          </code>
        </span>
      ))}
    </pre>
  );
});
