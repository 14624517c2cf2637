/** Threads, the other pages, and how the page itself looks and speaks. */

import { useState } from "react";
import { Link, useLocation } from "wouter";
import { api, signOut } from "../api/client";
import type { Info, Thread } from "../api/contract";
import { forget } from "../conversation/sessions";
import { tellTabs } from "../conversation/tabs";
import { useSpeech, type Language } from "../i18n/language";
import { notifiable, wantsNotices, wishNotices } from "../settings/notify";
import { useTheme, type Theme } from "../settings/theme";
import { Dialog } from "../ui/dialog";
import { useDrawer } from "../ui/drawer";
import { folder, moment } from "../ui/figures";
import { Icon, type IconName } from "../ui/icon";
import { Problem } from "../ui/problem";
import { SearchResults } from "./search";
import { ThreadDialog } from "./thread-dialog";

interface Props {
  threads: Thread[];
  active: string | null;
  info: Info | null;
  onMore: (() => void) | null;
  onChange: () => void;
  archived: boolean;
  onArchived: (only: boolean) => void;
  /** As a drawer, on a narrow screen. */
  open: boolean;
  onClose: () => void;
}

export function Sidebar({ threads, active, info, onMore, onChange, archived, onArchived, open, onClose }: Props) {
  const { t } = useSpeech();
  const drawer = useDrawer<HTMLElement>(open, onClose);
  const [doomed, setDoomed] = useState<Thread | null>(null);
  const [about, setAbout] = useState<Thread | null>(null);
  const [words, setWords] = useState("");
  const searching = words.trim() !== "";
  return (
    <aside ref={drawer} className="sidebar" aria-label={t("menu")}>
      <header className="brand">
        <Link href="/" className="brand-name">
          <img src="/icon.svg" alt="" width="24" height="24" />
          Holon
        </Link>
        {info?.demo && <span className="badge badge-accent" title={t("demo.what")}>{t("demo")}</span>}
        <button type="button" className="plain only-narrow" aria-label={t("close")} onClick={onClose}>
          <Icon name="cross" />
        </button>
      </header>
      <nav aria-label={t("pages")}>
        <PageLink href="/runs" icon="runs" label={t("page.runs")} />
        <PageLink href="/audit" icon="audit" label={t("page.audit")} />
        <PageLink href="/modes" icon="modes" label={t("page.modes")} />
      </nav>
      <section className="threads" aria-labelledby="threads-title">
        <div className="threads-head">
          <h2 id="threads-title">{t("threads")}</h2>
          <Link href="/" className="button small" aria-current={active === null ? undefined : false}>
            <Icon name="plus" size={16} /> {t("thread.new")}
          </Link>
        </div>
        <input className="thread-search" type="search" value={words} aria-label={t("search")} placeholder={t("search")} onChange={(event) => setWords(event.target.value)} />
        {searching ? (
          <SearchResults words={words.trim()} />
        ) : (
          <>
            {threads.length === 0 && <p className="faint pad">{t(archived ? "threads.noneArchived" : "threads.none")}</p>}
            <ul className="thread-list">
              {threads.map((thread) => (
                <ThreadItem key={thread.id} thread={thread} active={thread.id === active} onMore={() => setAbout(thread)} />
              ))}
            </ul>
          </>
        )}
        {!searching && (
          <button type="button" className="plain wide" aria-pressed={archived} onClick={() => onArchived(!archived)}>
            {t(archived ? "threads.active" : "threads.archived")}
          </button>
        )}
        {!searching && onMore && (
          <button type="button" className="plain wide" onClick={onMore}>
            {t("more")}
          </button>
        )}
      </section>
      <Appearance version={info?.version ?? null} />
      {about && (
        <ThreadDialog
          thread={about}
          onClose={() => setAbout(null)}
          onChange={onChange}
          onDelete={() => {
            setDoomed(about);
            setAbout(null);
          }}
        />
      )}
      {doomed && <DeleteDialog thread={doomed} active={doomed.id === active} onClose={() => setDoomed(null)} onDeleted={onChange} />}
    </aside>
  );
}

function PageLink({ href, icon, label }: { href: string; icon: IconName; label: string }) {
  const [location] = useLocation();
  const here = location === href || location.startsWith(`${href}/`);
  return (
    <Link href={href} className="page-link" aria-current={here ? "page" : undefined}>
      <Icon name={icon} /> {label}
    </Link>
  );
}

function ThreadItem({ thread, active, onMore }: { thread: Thread; active: boolean; onMore: () => void }) {
  const { t, language } = useSpeech();
  const title = thread.title ?? t("thread.untitled");
  return (
    <li className="thread-item" data-active={active}>
      <Link href={`/t/${thread.id}`} aria-current={active ? "page" : undefined} title={thread.workspace}>
        <span className="thread-title">
          {thread.state !== "idle" && (
            <span className={`dot dot-${thread.state}`} role="img" aria-label={t(thread.state === "running" ? "thread.running" : "thread.waiting")} />
          )}
          {thread.pinned && (
            <span className="thread-pin" role="img" aria-label={t("thread.pinned")} title={t("thread.pinned")}>
              <Icon name="pin" size={13} />
            </span>
          )}
          {title}
        </span>
        <span className="thread-sub">
          <span className="thread-folder">{folder(thread.workspace)}</span> <span>· {moment(thread.updated_at, language)}</span>
        </span>
      </Link>
      <button type="button" className="plain thread-delete" aria-label={t("thread.more", { title })} title={t("thread.more", { title })} onClick={onMore}>
        <Icon name="more" size={16} />
      </button>
    </li>
  );
}

function DeleteDialog({ thread, active, onClose, onDeleted }: { thread: Thread; active: boolean; onClose: () => void; onDeleted: () => void }) {
  const { t } = useSpeech();
  const [, navigate] = useLocation();
  const [error, setError] = useState<unknown>(null);
  const remove = async () => {
    try {
      // In the list a conversation is one, with all its branches.
      const { threads } = await api.branches(thread.id);
      for (const one of threads) {
        await api.deleteThread(one.id);
        forget(one.id);
        tellTabs(one.id);
      }
      // Going back must not lead to what is gone.
      if (active) navigate("/", { replace: true });
      onDeleted();
      onClose();
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <Dialog title={t("thread.delete", { title: thread.title ?? t("thread.untitled") })} onClose={onClose}>
      <p>{t("thread.deleteWhat")}</p>
      {error !== null && <Problem error={error} />}
      <footer className="dialog-foot">
        <button type="button" onClick={onClose}>
          {t("keep")}
        </button>
        <button type="button" className="danger" onClick={remove}>
          {t("delete")}
        </button>
      </footer>
    </Dialog>
  );
}

function Appearance({ version }: { version: string | null }) {
  const { t, language, choose } = useSpeech();
  const [theme, setTheme] = useTheme();
  const [notified, setNotified] = useState(wantsNotices);
  return (
    <footer className="appearance">
      <label>
        <span className="sr-only">{t("language")}</span>
        <select value={language} onChange={(event) => choose(event.target.value as Language)}>
          <option value="en" lang="en">English</option>
          <option value="zh" lang="zh-CN">中文</option>
        </select>
      </label>
      <label>
        <span className="sr-only">{t("theme")}</span>
        <select value={theme} onChange={(event) => setTheme(event.target.value as Theme)}>
          <option value="system">{t("theme.system")}</option>
          <option value="light">{t("theme.light")}</option>
          <option value="dark">{t("theme.dark")}</option>
        </select>
      </label>
      {notifiable() && (
        <button type="button" className="plain notify" aria-pressed={notified} aria-label={t("notify")} title={t("notify")} onClick={() => void wishNotices(!notified).then(setNotified)}>
          <Icon name="bell" size={16} />
        </button>
      )}
      <button type="button" className="plain" onClick={() => void signOut().catch(() => undefined)}>
        {t("signOut")}
      </button>
      {version && <span className="faint">{version}</span>}
    </footer>
  );
}
