/** What the thread changed in its copy; nothing is in the workspace before it is applied. */

import { useEffect, useMemo, useRef, useState } from "react";
import { api } from "../api/client";
import type { Diff } from "../api/contract";
import { type FilePatch, parsePatch } from "../conversation/patch";
import type { Session, Snapshot } from "../conversation/session";
import { useSpeech } from "../i18n/language";
import { Dialog } from "../ui/dialog";
import { Icon } from "../ui/icon";
import { later } from "../ui/later";
import { Path } from "../ui/path";
import { Problem } from "../ui/problem";

const PatchView = later(() => import("../ui/patch-view"));

export function Changes({ session, state }: { session: Session; state: Snapshot }) {
  const { t, named } = useSpeech();
  const [diff, setDiff] = useState<Diff | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [shown, setShown] = useState<string | null>(null);
  const [asking, setAsking] = useState<"apply" | "undo" | null>(null);
  const [told, setTold] = useState("");
  const { busy, loaded } = state;
  const { touched } = state.view;
  const asked = useRef(0);

  useEffect(() => {
    // While a turn runs, its files are in motion: they are looked at when it is over.
    if (!loaded || busy) return;
    const timer = setTimeout(() => {
      const mine = ++asked.current;
      api.diff(session.id).then(
        (found) => mine === asked.current && setDiff(found),
        (failure: unknown) => mine === asked.current && setError(failure),
      );
    }, 60);
    return () => clearTimeout(timer);
  }, [session, loaded, busy, touched]);

  const undoable = state.turns.findLast((turn) => turn.changed && turn.state !== "undone" && !turn.applied);
  const apply = async (allowSensitive: boolean) => {
    setError(null);
    try {
      const { applied, files } = await api.apply(session.id, allowSensitive);
      setTold(applied ? t("apply.done", { count: files.length }) : t("apply.nothing"));
      setAsking(null);
    } catch (failure) {
      setError(failure);
      setAsking(null);
    }
    await session.changed();
    setDiff(await api.diff(session.id).catch(() => null));
  };
  const undo = async () => {
    setError(null);
    try {
      const { turns } = await api.undo(session.id);
      setTold(t("undo.done", { turns: turns.join(", ") }));
    } catch (failure) {
      setError(failure);
    }
    setAsking(null);
    await session.changed();
    setDiff(await api.diff(session.id).catch(() => null));
  };
  const files = diff?.files ?? [];
  const patches = useMemo(() => new Map(parsePatch(diff?.patch ?? "").map((patch) => [patch.path, patch])), [diff]);
  const none = files.length === 0;
  return (
    <>
      {none ? (
        <p className="faint">{diff === null && busy ? t("changes.later") : diff === null && loaded && error === null ? t("loading") : t("changes.none")}</p>
      ) : (
        <>
          <p className="changes-sum">
            {t("changes.files", { count: files.length })} <span className="plus">+{diff?.insertions}</span> <span className="minus">−{diff?.deletions}</span>
          </p>
          <ul className="files">
            {files.map((file) => (
              <li key={file.path}>
                <button type="button" className="file" onClick={() => setShown(file.path)}>
                  <span className="file-status" data-status={file.status} title={named("file", file.status)}>
                    {file.status.charAt(0).toUpperCase()}
                    <span className="sr-only">{named("file", file.status)}</span>
                  </span>
                  <Path path={file.path} />
                  <Count patch={patches.get(file.path)} />
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
      {diff && diff.moved.length > 0 && <p className="warning">{t("changes.moved", { paths: diff.moved.join(", ") })}</p>}
      {diff && diff.ignored > 0 && <p className="faint">{t("changes.ignored", { count: diff.ignored })}</p>}
      <div className="changes-buttons">
        <button type="button" className="primary" disabled={none || busy} onClick={() => setAsking("apply")}>
          <Icon name="check" size={16} /> {t("apply")}
        </button>
        <button type="button" disabled={none} onClick={() => setShown(files[0]?.path ?? null)}>
          {t("changes.show")}
        </button>
        <button type="button" disabled={!undoable || busy} onClick={() => setAsking("undo")}>
          <Icon name="undo" size={16} /> {t("undo")}
        </button>
      </div>
      <p role="status" className="told">
        {told}
      </p>
      {error !== null && <Problem error={error} onClose={() => setError(null)} />}
      {shown !== null && diff && (
        <Dialog title={t("changes")} wide onClose={() => setShown(null)}>
          <PatchView patch={diff.patch} first={shown} />
        </Dialog>
      )}
      {asking === "apply" && diff && <ApplyDialog diff={diff} workspace={state.thread?.workspace ?? ""} onApply={apply} onClose={() => setAsking(null)} />}
      {asking === "undo" && (
        <Dialog title={t("undo")} onClose={() => setAsking(null)}>
          <p>{t("undo.what", { turn: undoable?.number ?? 0 })}</p>
          <footer className="dialog-foot">
            <button type="button" onClick={() => setAsking(null)}>
              {t("keep")}
            </button>
            <button type="button" className="primary" onClick={undo}>
              {t("undo")}
            </button>
          </footer>
        </Dialog>
      )}
    </>
  );
}

function ApplyDialog({ diff, workspace, onApply, onClose }: { diff: Diff; workspace: string; onApply: (sensitive: boolean) => void; onClose: () => void }) {
  const { t } = useSpeech();
  const [agreed, setAgreed] = useState(false);
  const sensitive = diff.sensitive.length > 0;
  return (
    <Dialog title={t("apply")} onClose={onClose}>
      <p>{t("apply.what", { count: diff.files.length, workspace })}</p>
      {sensitive && (
        <div className="warning">
          <p>{t("apply.sensitive")}</p>
          <ul className="paths">
            {diff.sensitive.map((path) => (
              <li key={path}>
                <code>{path}</code>
              </li>
            ))}
          </ul>
          <label className="check">
            <input type="checkbox" checked={agreed} onChange={(event) => setAgreed(event.target.checked)} /> {t("apply.agree")}
          </label>
        </div>
      )}
      <footer className="dialog-foot">
        <button type="button" onClick={onClose}>
          {t("cancel")}
        </button>
        <button type="button" className="primary" disabled={sensitive && !agreed} onClick={() => onApply(sensitive)}>
          {t("apply")}
        </button>
      </footer>
    </Dialog>
  );
}

function Count({ patch }: { patch: FilePatch | undefined }) {
  const { t } = useSpeech();
  if (patch === undefined) return null;
  if (patch.binary) return <span className="faint">{t("binary")}</span>;
  return (
    <span className="file-count">
      <span className="plus">+{patch.insertions}</span> <span className="minus">−{patch.deletions}</span>
    </span>
  );
}
