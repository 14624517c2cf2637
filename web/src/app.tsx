/** The frame: threads and pages on the left, what is chosen beside them. */

import { lazy, Suspense, useCallback, useEffect, useState } from "react";
import { Route, Router, Switch, useLocation } from "wouter";
import { useHashLocation } from "wouter/use-hash-location";
import { api, Failure, signIn } from "./api/client";
import type { Info, Thread } from "./api/contract";
import { Chat } from "./chat/chat";
import { Sidebar } from "./chat/sidebar";
import { SignIn } from "./settings/sign-in";
import { useSpeech } from "./i18n/language";
import { Icon } from "./ui/icon";
import { Problem } from "./ui/problem";

const Runs = lazy(() => import("./runs/runs"));
const Audit = lazy(() => import("./audit/audit"));
const Modes = lazy(() => import("./modes/modes"));

export function App() {
  return (
    <Router hook={useHashLocation}>
      <Frame />
    </Router>
  );
}

function Frame() {
  const { t } = useSpeech();
  const [location] = useLocation();
  const [info, setInfo] = useState<Info | null>(null);
  const [threads, setThreads] = useState<Thread[]>([]);
  const [next, setNext] = useState<string | null>(null);
  const [failure, setFailure] = useState<unknown>(null);
  const [menu, setMenu] = useState(false);
  const active = /^\/t\/([^/]+)/.exec(location)?.[1] ?? null;

  const reload = useCallback(() => {
    api.threads().then(
      (page) => {
        setThreads(page.threads);
        setNext(page.next);
        setFailure(null);
      },
      (error: unknown) => setFailure(error),
    );
  }, []);
  const more = useCallback(() => {
    if (next === null) return;
    api.threads(next).then(
      (page) => {
        setThreads((before) => [...before, ...page.threads.filter((thread) => !before.some((known) => known.id === thread.id))]);
        setNext(page.next);
      },
      (error: unknown) => setFailure(error),
    );
  }, [next]);
  const begin = useCallback(() => {
    api.info().then(setInfo, (error: unknown) => setFailure(error));
    reload();
  }, [reload]);
  useEffect(begin, [begin]);
  useEffect(() => {
    const focus = () => document.visibilityState === "visible" && reload();
    document.addEventListener("visibilitychange", focus);
    return () => document.removeEventListener("visibilitychange", focus);
  }, [reload]);
  // Choosing something closes the drawer on a narrow screen.
  useEffect(() => setMenu(false), [location]);

  if (failure instanceof Failure && failure.status === 401) {
    return (
      <SignIn
        onToken={(token) => {
          signIn(token);
          setFailure(null);
          begin();
        }}
      />
    );
  }
  const menuButton = (
    <button type="button" className="plain only-narrow" aria-label={t("menu")} aria-expanded={menu} onClick={() => setMenu(!menu)}>
      <Icon name="menu" />
    </button>
  );
  return (
    <div className="frame" data-menu={menu}>
      <a className="skip" href="#main" onClick={skip}>
        {t("skip")}
      </a>
      <Sidebar threads={threads} active={active} info={info} onMore={next === null ? null : more} onChange={reload} open={menu} onClose={() => setMenu(false)} />
      {menu && <div className="scrim" onClick={() => setMenu(false)} />}
      <main id="main" tabIndex={-1} inert={menu}>
        {failure !== null && <Problem error={failure} onRetry={begin} onClose={() => setFailure(null)} />}
        <Suspense fallback={<p className="loading">{t("loading")}</p>}>
          <Switch>
            <Route path="/runs/:id?">{(params) => <Runs id={params.id} menu={menuButton} info={info} />}</Route>
            <Route path="/audit">{() => <Audit menu={menuButton} />}</Route>
            <Route path="/modes/:name?">{(params) => <Modes name={params.name} menu={menuButton} />}</Route>
            <Route path="/t/:id">
              {(params) => <Chat key={params.id} id={params.id} info={info} menu={menuButton} onNews={reload} />}
            </Route>
            <Route>{() => <Chat id={null} info={info} menu={menuButton} onNews={reload} />}</Route>
          </Switch>
        </Suspense>
      </main>
    </div>
  );
}

/** To the content, without touching the address, which belongs to the routes. */
function skip(event: React.MouseEvent): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}
