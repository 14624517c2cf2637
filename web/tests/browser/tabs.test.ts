/** Several tabs, long lists, going back. */

import type { Page } from "@playwright/test";
import { expect, over, SAY, say, test } from "./stage";

test("another tab shows a turn while it runs, and its question", async ({ page, context }) => {
  await page.goto("/");
  await say(page, SAY.ask);
  await expect(page.getByTestId("asked")).toBeVisible();
  const other = await context.newPage();
  await other.goto(page.url());
  await expect(other.getByTestId("asked")).toBeVisible();
  await say(page, "explain slowly");
  await expect(other.locator(".said")).toHaveCount(2);
  await expect(other.locator(".stop")).toBeVisible();
  await expect(other.locator(".answer").last()).toContainText("word-3 ");
  await other.locator(".stop").click();
  await over(page);
  await over(other);
  await expect(page.locator('.trouble[data-code="cancelled"]')).toBeVisible();
});

test("a thread deleted in another tab is told, and going back does not lead to it", async ({ page, context, stage }) => {
  stage.expected.push("404");
  await page.goto("/");
  await say(page, SAY.ask);
  await expect(page.getByTestId("asked")).toBeVisible();
  const url = page.url();
  const other = await context.newPage();
  await other.goto("/#/modes");
  await expect(other.getByRole("heading", { level: 1 })).toHaveText("Modes");
  await other.goto(url);
  await expect(other.getByTestId("asked")).toBeVisible();
  await other.locator('.thread-item[data-active="true"] .thread-delete').focus();
  await other.keyboard.press("Enter");
  await other.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await other.getByRole("dialog").filter({ hasText: "unapplied changes" }).getByRole("button", { name: "Delete", exact: true }).click();
  await expect(other.locator(".welcome")).toBeVisible();
  await expect(page.locator(".talk .problem")).toContainText("may have been deleted");
  await other.goBack();
  await expect(other.getByRole("heading", { level: 1 })).toHaveText("Modes");
});

test("an answer that comes too late says so, and the page catches up", async ({ page, browser, stage }) => {
  stage.expected.push("409");
  await page.goto("/");
  await say(page, SAY.ask);
  const form = page.getByTestId("asked");
  await expect(form).toBeVisible();
  // Another browser, which no tab can tell of.
  const elsewhere = await (await browser.newContext({ locale: "en-US" })).newPage();
  await elsewhere.goto(page.url());
  for (const who of [elsewhere, page]) {
    const there = who.getByTestId("asked");
    await there.getByRole("radio").first().check();
    for (const area of await there.locator("textarea").all()) await area.fill("nothing");
    await there.getByRole("button", { name: "Answer" }).click();
    if (who === elsewhere) await over(elsewhere);
  }
  await expect(page.locator(".asked-closed")).toBeVisible();
  await expect(form).toHaveCount(0);
  await elsewhere.context().close();
});

/** A server with two hundred threads; asking for one of them is not part of it. */
async function many(page: Page): Promise<void> {
  await page.route("**/api/threads?**", (route) => {
    const query = new URL(route.request().url()).searchParams;
    const [limit, from] = [Number(query.get("limit")), Number(query.get("before") ?? 0)];
    // None of them is pinned.
    if (query.get("pinned") === "true") return route.fulfill({ contentType: "application/json", body: JSON.stringify({ threads: [], next: null }) });
    const threads = Array.from({ length: Math.min(limit, 200 - from) }, (_, at) => ({
      id: `t-m${from + at}`, workspace: `/srv/${"a-folder-".repeat(30)}`, agent: "native", model: null, title: `Thread ${from + at}`, mode: "build", state: "idle",
      created_at: "2026-11-15T08:00:00Z", updated_at: "2026-11-15T08:00:00Z", last_seq: 0, turns_count: 0, tools: {}, interrupt: null, usage: null,
    }));
    return route.fulfill({ contentType: "application/json", body: JSON.stringify({ threads, next: from + limit < 200 ? String(from + limit) : null }) });
  });
}

test("a list of threads that was made longer stays so when something happens", async ({ page }) => {
  await many(page);
  await page.goto("/");
  const items = page.locator(".thread-item");
  await expect(items).toHaveCount(50);
  await page.getByRole("button", { name: "Show more" }).click();
  await expect(items).toHaveCount(100);
  const asked = page.waitForResponse("**/api/threads?**");
  await say(page, SAY.ask);
  await asked;
  await expect(page.getByTestId("asked")).toBeVisible();
  await expect(items).toHaveCount(100);
  // A long name of a folder leaves room for the time.
  const beyond = () => items.first().locator(".thread-sub").evaluate((sub) => (sub.lastElementChild?.getBoundingClientRect().right ?? Number.POSITIVE_INFINITY) - sub.getBoundingClientRect().right);
  await expect.poll(beyond).toBeLessThanOrEqual(1);
});
