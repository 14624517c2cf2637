/** A patch, file by file: old and new side by side, one below the other where there is no room. */

import { memo, useEffect, useMemo, useRef, useState } from "react";
import { parsePatch, type FilePatch, type Row, type Side } from "../conversation/patch";
import { useSpeech } from "../i18n/language";
import { apart } from "./apart";
import { Pieces } from "./code";
import { highlight, languageOf } from "./highlight";
import { visible } from "./visible";

interface Props {
  patch: string;
  /** The file to begin with. */
  first?: string;
  /** Old and new below each other, as in a column of text. */
  narrow?: boolean;
}

/** Rows shown before somebody asks for all of them. */
const MANY = 1500;

export default function PatchView({ patch, first, narrow = false }: Props) {
  const { t } = useSpeech();
  const files = useMemo(() => parsePatch(patch), [patch]);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (first === undefined) return;
    const at = files.findIndex((file) => file.path === first);
    if (at > 0) box.current?.querySelector(`[data-file="${at}"]`)?.scrollIntoView({ block: "start" });
  }, [files, first]);
  if (files.length === 0) return <p className="faint">{t("changes.none")}</p>;
  return (
    <div className="patch" data-narrow={narrow} ref={box} tabIndex={0} role={narrow ? "group" : "region"} aria-label={t("changes")}>
      {files.map((file, at) => (
        <FileView key={`${at}.${file.path}`} file={file} place={at} />
      ))}
    </div>
  );
}

const FileView = memo(function FileView({ file, place }: { file: FilePatch; place: number }) {
  const { t, named } = useSpeech();
  const [all, setAll] = useState(false);
  const language = useMemo(() => languageOf(file.path), [file.path]);
  const rows = all ? file.rows : file.rows.slice(0, MANY);
  return (
    <section className="patch-file" data-file={place}>
      <h3 className="patch-name">
        <span className="file-status" data-status={file.status}>
          {file.status.charAt(0).toUpperCase()}
          <span className="sr-only">{named("file", file.status)}</span>
        </span>
        <span className="file-path">{visible(file.from ? `${file.from} → ${file.path}` : file.path)}</span>
        {file.notes.map((note) => (
          <code key={note}>{note}</code>
        ))}
        <span className="file-count">
          <span className="plus">+{file.insertions}</span> <span className="minus">−{file.deletions}</span>
        </span>
      </h3>
      {file.binary && <p className="faint pad">{t("binary")}</p>}
      {rows.length > 0 && (
        <table className="sides">
          <caption className="sr-only">{t("patch.caption", { path: file.path })}</caption>
          <colgroup>
            <col className="col-no" />
            <col />
            <col className="col-no" />
            <col />
          </colgroup>
          <thead className="sr-only">
            <tr>
              <th scope="col">{t("patch.line")}</th>
              <th scope="col">{t("patch.before")}</th>
              <th scope="col">{t("patch.line")}</th>
              <th scope="col">{t("patch.after")}</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row, at) => (
              <RowView key={at} row={row} language={language} />
            ))}
          </tbody>
        </table>
      )}
      {rows.length < file.rows.length && (
        <button type="button" className="plain wide" onClick={() => setAll(true)}>
          {t("patch.all", { count: file.rows.length })}
        </button>
      )}
    </section>
  );
});

function RowView({ row, language }: { row: Row; language: string | null }) {
  if (row.kind === "hunk") {
    return (
      <tr className="hunk">
        <td colSpan={4}>⋯ {row.heading}</td>
      </tr>
    );
  }
  const parts = row.kind === "change" && row.left && row.right ? apart(row.left.text, row.right.text) : null;
  return (
    <tr className={row.kind === "change" ? "changed" : undefined}>
      <Cell side={row.left} sign="−" tone="old" language={language} parts={parts?.[0] ?? null} />
      <Cell side={row.right} sign="+" tone="new" language={language} parts={parts?.[1] ?? null} />
    </tr>
  );
}

interface CellProps {
  side: Side | null;
  sign: string;
  tone: "old" | "new";
  language: string | null;
  parts: [string, string, string] | null;
}

function Cell({ side, sign, tone, language, parts }: CellProps) {
  if (side === null) {
    return (
      <>
        <td className={`no blank ${tone}`} />
        <td className={`text blank ${tone}`} />
      </>
    );
  }
  const name = side.changed ? ` ${tone}` : "";
  return (
    <>
      <td className={`no${name} side-${tone}`}>{side.line}</td>
      <td className={`text${name} side-${tone}`}>
        {side.changed && <span className="sign">{sign}</span>}
        {parts ? (
          <>
            {visible(parts[0])}
            {parts[1] !== "" && <mark>{visible(parts[1])}</mark>}
            {visible(parts[2])}
          </>
        ) : (
          <Pieces pieces={highlight(side.text, language)} />
        )}
      </td>
    </>
  );
}
