/** A page with a server behind it, and three things no test may cause: a console error, a refused policy, a request elsewhere. */

import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { expect, test as base, type Page, type Route } from "@playwright/test";

interface Stage {
  /** Messages of the browser that a test expects, by a part of their text. */
  expected: string[];
}

interface Server {
  url: string;
  /** The server under test is the real one: what only the stand-in can stage is skipped. */
  real: boolean;
}

/** What a message must say to bring a scene about; the demo of the real server has its own words. */
export const SAY = {
  build: "Make the greeting loud and test it",
  plan: "Run ls",
  ask: "Ask me which one",
  stuck: "Fix the broken build in greet.sh",
  ...(JSON.parse(process.env.HOLON_PAGE_SAY ?? "{}") as Record<string, string>),
};

/** How many times slower the machine shall seem: what only a quick one passes is found this way. */
const SLOW = Number(process.env.HOLON_PAGE_SLOW ?? 1);

/** Lets a request through that a scene found right; a real server gets its own token. */
export function admit(route: Route): Promise<void> {
  const token = process.env.HOLON_PAGE_TOKEN;
  if (!token) return route.fallback();
  return route.fallback({ headers: { ...route.request().headers(), authorization: `Bearer ${token}` } });
}

/** Long threads, by their ids. */
export const THREADS = { big: "t-big", small: "t-small", ...(JSON.parse(process.env.HOLON_PAGE_THREADS ?? "{}") as Record<string, string>) };

/** A run that waits at its gate. */
export const RUN = process.env.HOLON_PAGE_RUN ?? "";

export const test = base.extend<{ stage: Stage }, { server: Server }>({
  server: [
    async ({}, use) => {
      if (process.env.HOLON_PAGE_URL) return void (await use({ url: process.env.HOLON_PAGE_URL, real: true }));
      const child = spawn(process.execPath, ["dev/server.mjs", "--port", "0", "--late", String(SLOW > 1 ? 800 : 0)], { stdio: ["ignore", "pipe", "inherit"] });
      await use({ url: await firstLine(child), real: false });
      child.kill();
    },
    { scope: "worker" },
  ],
  baseURL: ({ server }, use) => use(server.url),
  stage: [
    async ({ page, server }, use) => {
      const stage: Stage = { expected: [] };
      if (SLOW > 1) await (await page.context().newCDPSession(page)).send("Emulation.setCPUThrottlingRate", { rate: SLOW });
      const problems: string[] = [];
      page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
      page.on("pageerror", (error) => problems.push(String(error)));
      page.on("request", (request) => {
        const url = request.url();
        if (!url.startsWith(server.url) && !url.startsWith("data:") && !url.startsWith("blob:")) problems.push(`request to ${url}`);
      });
      await use(stage);
      // What is still on its way through a test's own answers is nobody's any more.
      await page.unrouteAll({ behavior: "ignoreErrors" });
      expect(problems.filter((problem) => !stage.expected.some((part) => problem.includes(part)))).toEqual([]);
    },
    { auto: true },
  ],
});

export { expect };

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    child.stdout?.on("data", (piece: Buffer) => {
      text += piece.toString();
      if (text.includes("\n")) resolve(text.split("\n", 1)[0] ?? "");
    });
    child.once("exit", () => reject(new Error("the stand-in did not start")));
  });
}

export const input = (page: Page) => page.locator(".composer textarea");

/** Writes and sends; the page is then in a thread. */
export async function say(page: Page, text: string): Promise<void> {
  await input(page).fill(text);
  await expect(page.locator(".send")).toBeEnabled();
  await input(page).press("Enter");
  await expect(page).toHaveURL(/#\/t\//);
}

/** Cuts every connection the browser has, where something stands between it and the real server that can. */
export async function cut(page: Page, url: string): Promise<void> {
  await page.request.post(`${url}/cut-connections`);
}

/** Until the turn is over. */
export async function over(page: Page): Promise<void> {
  await expect(page.locator(".send")).toBeVisible({ timeout: 20_000 });
}

/** Watches from now on; what it gives back waits until something like this was there, for however short a time. */
export async function sighting(page: Page, selector: string): Promise<() => Promise<void>> {
  const seen = await page.evaluateHandle((wanted) => {
    const sight = { came: false };
    const look = () => {
      sight.came ||= document.querySelector(wanted) !== null;
    };
    new MutationObserver(look).observe(document, { subtree: true, childList: true, attributes: true });
    look();
    return sight;
  }, selector);
  return () => expect.poll(() => seen.evaluate((sight) => sight.came), { message: selector }).toBe(true);
}

/** Opens every tool card that the list shows. */
export async function openCards(page: Page): Promise<void> {
  await expect(page.locator(".tool-head").first()).toBeVisible();
  const closed = page.locator('.tool-head[aria-expanded="false"]');
  while ((await closed.count()) > 0) await closed.first().click();
}

/** Whether nothing is wider than the screen, once everything is in its place. */
export async function fits(page: Page, where?: string): Promise<void> {
  await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth - innerWidth), { message: where }).toBeLessThanOrEqual(0);
}

/** Nothing that was meant as text has run or become a part of the page. */
export async function inert(page: Page): Promise<void> {
  expect(await page.evaluate(() => (globalThis as { __pwned?: number }).__pwned)).toBeUndefined();
  const grown = ["img", "iframe", "script", "b", "[onload]", "[onerror]"].flatMap((part) => [`main ${part}`, `[role=dialog] ${part}`, `dialog ${part}`, `.panel ${part}`, `.threads ${part}`]);
  expect(await page.locator(grown.join(", ")).count()).toBe(0);
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Violation {
  id: string;
  impact: string;
  help: string;
  nodes: { target: string[]; failureSummary: string }[];
}

/** What axe-core finds, small things too; handed over through the debugger, which no policy of the page concerns. */
export async function barriers(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  // Colours on their way are nobody's choice.
  await page.evaluate(() =>
    Promise.all(
      document
        .getAnimations()
        .filter((animation) => animation.effect?.getComputedTiming().endTime !== Number.POSITIVE_INFINITY)
        .map((animation) => animation.finished.catch(() => undefined)),
    ),
  );
  const violations = await page.evaluate(
    () => (globalThis as unknown as { axe: { run: (root: Document) => Promise<{ violations: Violation[] }> } }).axe.run(document).then((result) => result.violations),
  );
  return violations
    .map((violation) => `${violation.id}: ${violation.help}: ${violation.nodes.map((node) => `${node.target.join(" ")} (${node.failureSummary.replaceAll("\n", " ")})`).join("; ")}`);
}
