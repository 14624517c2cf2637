/** All branches of a conversation as a tree. */

import { Link } from "wouter";
import type { Thread } from "../api/contract";
import { tree } from "../conversation/branches";
import { useSpeech } from "../i18n/language";
import { Dialog } from "../ui/dialog";
import { moment } from "../ui/figures";

export function TreeDialog({ family, id, onClose }: { family: readonly Thread[]; id: string; onClose: () => void }) {
  const { t, language } = useSpeech();
  return (
    <Dialog title={t("branch.tree")} onClose={onClose}>
      <ul className="branch-tree" data-testid="tree">
        {tree(family).map(({ thread, depth }) => (
          <li key={thread.id} data-depth={Math.min(depth, 8)} data-active={thread.id === id}>
            <Link href={`/t/${thread.id}`} aria-current={thread.id === id ? "page" : undefined} onClick={onClose}>
              <span className="thread-title">{thread.title ?? t("thread.untitled")}</span>
              <span className="thread-sub">
                <span>{thread.branch ? t("branch.from", { turn: thread.branch.turn }) : t("branch.first")}</span>{" "}
                <span>· {t("branch.turns", { count: thread.turns_count })}</span> <span>· {moment(thread.updated_at, language)}</span>
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
