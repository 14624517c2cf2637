/** An orchestration is watched, and one of its tasks is spoken to, while the run goes on and when it is over. */

import type { Page } from "@playwright/test";
import { en } from "../../src/i18n/en";
import { zh } from "../../src/i18n/zh";
import { barriers, expect, fits, test } from "./stage";

const GOING = "20261115-071000-ffffff";
const OVER = "20261115-070000-gggggg";

const task = (page: Page, id: string) => page.locator(".tasks > ol > li").filter({ has: page.locator("strong", { hasText: new RegExp(`^${id}$`) }) });

test("who does what, for how much, and what is done now", async ({ page, server }) => {
  test.skip(server.real, "the stand-in stages the run");
  await page.goto(`/#/runs/${GOING}`);
  await expect(page.locator(".tasks > ol > li")).toHaveCount(5);
  await expect(task(page, "words")).toHaveAttribute("data-state", "done");
  await expect(task(page, "words")).toContainText("agent native");
  // What is over does nothing now.
  await expect(task(page, "words").locator(".task-action")).toHaveCount(0);
  await expect(task(page, "choose")).toContainText("agent claude-code");
  await expect(task(page, "choose")).toContainText("model claude-opus-4.6");
  await expect(task(page, "choose")).toContainText("$0.48 so far");
  await expect(task(page, "choose")).toContainText("2 starts");
  await expect(task(page, "choose").locator(".task-action")).toContainText("Edit greet.sh");
  await expect(task(page, "docs")).toHaveAttribute("data-depth", "1");
  await expect(task(page, "look")).toHaveAttribute("data-state", "waiting");
  expect(await barriers(page)).toEqual([]);
  for (const width of [360, 1280]) {
    await page.setViewportSize({ width, height: 900 });
    await fits(page);
  }
});

test("a word to one task is heard or refused where it was said", async ({ page, server, stage }) => {
  test.skip(server.real, "the stand-in stages the run");
  stage.expected.push("409");
  await page.goto(`/#/runs/${GOING}`);
  const docs = task(page, "docs");
  await docs.locator("summary").click();
  await expect(docs.getByRole("button", { name: en["speak.say"] })).toBeDisabled();
  await docs.getByRole("textbox").fill("Leave the API page alone");
  await docs.getByRole("button", { name: en["speak.say"] }).click();
  await expect(docs.getByRole("status")).toHaveText(en["speak.sayTold"]);
  await docs.getByRole("button", { name: en["speak.retry"] }).click();
  await expect(docs.getByRole("status")).toHaveText(en["speak.retryTold"]);
  await docs.getByRole("button", { name: en["speak.stop"], exact: true }).click();
  await expect(docs.getByRole("status")).toHaveText(en["speak.stopTold"]);
  const last = task(page, "ethical");
  await last.locator("summary").click();
  // Nothing of it is under way, so there is nothing to begin again.
  await expect(last.getByRole("button", { name: en["speak.retry"] })).toBeDisabled();
  await last.getByRole("button", { name: en["speak.skip"] }).click();
  await expect(last).toContainText("nothing goes out without an assessment");
  await expect(task(page, "words").locator("summary")).toHaveCount(0);
});

test("what is said to a task of a run that is over is kept, in both languages", async ({ page, server }) => {
  test.skip(server.real, "the stand-in stages the run");
  await page.goto(`/#/runs/${OVER}`);
  await expect(page.locator(".tasks")).toContainText(en["tasks.kept"]);
  const choose = task(page, "choose");
  await expect(choose).toHaveAttribute("data-state", "failed");
  await choose.locator("summary").click();
  await expect(choose.getByRole("button", { name: en["speak.stop"], exact: true })).toHaveCount(0);
  await choose.getByRole("button", { name: en["speak.retry"] }).click();
  await expect(choose.getByRole("status")).toHaveText(en["speak.kept"]);
  await expect(task(page, "words").locator("summary")).toHaveCount(0);
  await page.getByRole("combobox", { name: "Language" }).selectOption("zh");
  await expect(page.locator(".tasks")).toContainText(zh["tasks.kept"]);
  await choose.getByRole("button", { name: zh["speak.skip"] }).click();
  await expect(choose.getByRole("status")).toHaveText(zh["speak.kept"]);
});
