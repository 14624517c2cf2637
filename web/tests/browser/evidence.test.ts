/** Why a run failed can be read on its page. */

import type { Page } from "@playwright/test";
import { barriers, expect, fits, inert, test } from "./stage";

const RUN = {
  id: "r-1", workspace: "/srv/x", mode: "execute", goal: "Build it", agent: "native", started_at: "2026-11-15T08:00:00Z", state: "finished", outcome: "failure", exit_code: 1, gate: null, artifacts: [],
  manifest: { error: { kind: "agent_failed", message: "the agent exited with code 3", hint: "its output is in evidence/agent.log" }, metadata: { flow: { steps: [{ name: "build", run_id: "r-2" }] } } },
  evidence: [{ path: "steps/r-2/agent.log", bytes: 5_000_000 }, { path: "events.jsonl", bytes: 10 }, { path: "agent.log", bytes: 200 }, { path: "check-1.log", bytes: 0 }],
};

const FILES: Record<string, object> = {
  "agent.log": { text: `${"compiling\n".repeat(200)}\u001b[31merror\u001b[0m: <img src=x onerror=window.__pwned=1> \u202Egol.txt\n`, bytes: 2100, cut: 0 },
  "check-1.log": { text: "", bytes: 0, cut: 0 },
  "steps/r-2/agent.log": { text: "the last line\n", bytes: 5_000_000, cut: 4_737_856 },
};

async function stage(page: Page, run: object): Promise<void> {
  await page.route("**/api/runs/r-1", (route) => route.fulfill({ contentType: "application/json", body: JSON.stringify(run) }));
  await page.route("**/api/runs/r-1/events**", (route) => route.fulfill({ contentType: "text/event-stream", body: "event: done\ndata: {}\n\n" }));
  await page.route("**/api/runs/r-1/evidence/*", (route) => {
    const file = FILES[decodeURIComponent(route.request().url().split("/").pop() ?? "")];
    return file
      ? route.fulfill({ contentType: "application/json", body: JSON.stringify(file) })
      : route.fulfill({ status: 404, contentType: "application/problem+json", body: JSON.stringify({ code: "not_found", message: "there is no such file" }) });
  });
  await page.goto("/#/runs/r-1");
}

test("what a failed run printed is one step away, as text, from its end", async ({ page, stage: expected }) => {
  expected.expected.push("404");
  await stage(page, RUN);
  const files = page.locator(".evidence");
  const file = (name: string) => files.getByRole("button", { name: new RegExp(`^${name}`) });
  await expect(files.locator(".evidence-name")).toHaveText(["agent.log", "check-1.log", "events.jsonl", "build/agent.log"]);
  await file("agent.log").focus();
  await page.keyboard.press("Enter");
  await expect(file("agent.log")).toHaveAttribute("aria-expanded", "true");
  const text = files.locator("pre");
  await expect(text).toContainText("error: <img src=x onerror=window.__pwned=1> ⟨U+202E⟩gol.txt");
  await inert(page);
  // The last line is what one came for.
  await expect.poll(() => text.evaluate((element) => element.scrollHeight - element.clientHeight - element.scrollTop)).toBeLessThanOrEqual(1);
  await expect.poll(() => text.evaluate((element) => element.scrollTop)).toBeGreaterThan(100);
  expect(await barriers(page)).toEqual([]);

  await file("check-1.log").click();
  await expect(files).toContainText("The file is empty.");
  await expect(text).toHaveCount(0);
  await file("build/agent.log").click();
  await expect(text).toHaveText("the last line\n");
  await expect(files).toContainText("the first 4.5 MB are left out");
  await expect(files.locator("li code")).toHaveText("holon runs show r-1");
  await file("events.jsonl").click();
  await expect(files.locator(".problem")).toContainText("there is no such file");
});

test("a run that went well keeps it closed, and one without has none", async ({ page }) => {
  await stage(page, { ...RUN, outcome: "success", exit_code: 0, manifest: null });
  const files = page.locator(".evidence");
  await expect(files.locator("summary")).toHaveText("Evidence (4)");
  await expect(files.locator(".evidence-name").first()).toBeHidden();
  await files.locator("summary").click();
  await expect(files.locator(".evidence-name").last()).toHaveText("r-2/agent.log");
  await page.unroute("**/api/runs/r-1");
  await page.route("**/api/runs/r-1", (route) => route.fulfill({ contentType: "application/json", body: JSON.stringify({ ...RUN, evidence: [] }) }));
  await page.reload();
  await expect(page.locator(".run-facts")).toBeVisible();
  await expect(files).toHaveCount(0);
});

for (const [name, use] of [
  ["on a phone, in Chinese", { locale: "zh-CN", colorScheme: "dark", viewport: { width: 390, height: 844 } }],
  ["enlarged to 400 per cent", { viewport: { width: 320, height: 256 } }],
] as const) {
  test.describe(name, () => {
    test.use(use);
    test("nothing of it is wider than the screen", async ({ page }) => {
      const long = { path: `steps/r-2/check-${"9".repeat(200)}.log`, bytes: 1 };
      await stage(page, { ...RUN, evidence: [...RUN.evidence, long] });
      const files = page.locator(".evidence");
      await files.getByRole("button", { name: /^agent.log/ }).click();
      await expect(files.locator("pre")).toContainText("error");
      expect(await barriers(page)).toEqual([]);
      await fits(page);
      await expect.poll(() => page.locator(".page-body").evaluate((element) => element.scrollWidth - element.clientWidth)).toBeLessThanOrEqual(0);
    });
  });
}
