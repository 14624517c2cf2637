/** The frame: threads and pages on the left, what is chosen beside them. */

import { useCallback, useEffect, useRef, useState, type ReactNode } from "react";
import { Route, Router, Switch, useLocation } from "wouter";
import { useHashLocation } from "wouter/use-hash-location";
import { api, Failure, signIn } from "./api/client";
import type { Info } from "./api/contract";
import { Chat } from "./chat/chat";
import { paletteCommands } from "./chat/palette-commands";
import { Sidebar } from "./chat/sidebar";
import { useThreads } from "./chat/thread-list";
import { wake } from "./conversation/sessions";
import { hearTabs } from "./conversation/tabs";
import { setMode } from "./settings/mode";
import { SignIn } from "./settings/sign-in";
import { useSpeech } from "./i18n/language";
import { Boundary } from "./ui/boundary";
import { catchFocus } from "./ui/focus-after";
import { Icon } from "./ui/icon";
import { later } from "./ui/later";
import { Problem } from "./ui/problem";

/** The way to the other pages stays while one is fetched, or cannot be. */
const framed = ({ menu }: { menu: ReactNode }, content: ReactNode) => (
  <div className="page">
    <header className="bar">{menu}</header>
    <div className="page-body">{content}</div>
  </div>
);
const Runs = later(() => import("./runs/runs"), framed);
const Audit = later(() => import("./audit/audit"), framed);
const Palette = later(() => import("./ui/palette-dialog"));
const Modes = later(() => import("./modes/modes"), framed);

export function App() {
  return (
    <Router hook={useHashLocation}>
      <Frame />
    </Router>
  );
}

function Frame() {
  const speech = useSpeech();
  const { t } = speech;
  const [location, navigate] = useLocation();
  const [info, setInfo] = useState<Info | null>(null);
  const [failure, setFailure] = useState<unknown>(null);
  const { threads, next, reload, more, archived, showArchived } = useThreads(setFailure);
  const [tried, setTried] = useState(false);
  const [menu, setMenu] = useState(false);
  const active = /^\/t\/([^/]+)/.exec(location)?.[1] ?? null;

  const begin = useCallback(() => {
    api.info().then(setInfo, (error: unknown) => setFailure(error));
    reload();
  }, [reload]);
  useEffect(begin, [begin]);
  useEffect(
    () =>
      hearTabs((thread) => {
        reload();
        wake(thread);
      }),
    [reload],
  );
  // Choosing something closes the drawer on a narrow screen.
  useEffect(() => setMenu(false), [location]);
  // A link that is gone with the page it was on leaves the focus nowhere: the new page's heading takes it.
  const place = useRef(location);
  useEffect(() => {
    if (place.current !== location) catchFocus("main h1[tabindex]", "main");
    place.current = location;
  }, [location]);

  const [palette, setPalette] = useState(false);
  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey || event.key.toLowerCase() !== "k") return;
      event.preventDefault();
      // Over another dialog it would stand behind what waits for an answer.
      if (document.querySelector("dialog[open]") === null) setPalette(true);
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, []);

  if (failure instanceof Failure && failure.status === 401) {
    return (
      <SignIn
        wrong={tried}
        onToken={(token) => {
          signIn(token);
          setTried(true);
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
      <Sidebar threads={threads} active={active} info={info} onMore={next === null ? null : more} onChange={reload} archived={archived} onArchived={showArchived} open={menu} onClose={() => setMenu(false)} />
      {palette && <Palette commands={paletteCommands({ speech, threads, active, go: navigate, setMode })} onClose={() => setPalette(false)} />}
      {menu && <div className="scrim" onClick={() => setMenu(false)} />}
      <main id="main" tabIndex={-1} inert={menu}>
        {failure !== null && <Problem error={failure} onRetry={begin} onClose={() => setFailure(null)} />}
        <Boundary place={location} menu={menuButton}>
          <Switch>
            <Route path="/runs/:id?">{(params) => <Runs id={params.id} menu={menuButton} info={info} />}</Route>
            <Route path="/audit">{() => <Audit menu={menuButton} />}</Route>
            <Route path="/modes/:name?">{(params) => <Modes name={params.name} menu={menuButton} />}</Route>
            <Route path="/t/:id">
              {(params) => <Chat key={params.id} id={params.id} info={info} menu={menuButton} onNews={reload} />}
            </Route>
            <Route>{() => <Chat id={null} info={info} menu={menuButton} onNews={reload} />}</Route>
          </Switch>
        </Boundary>
      </main>
    </div>
  );
}

/** To the content, without touching the address, which belongs to the routes. */
function skip(event: React.MouseEvent): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}
