/** Saying again: edits and new answers in branches, the line of messages that wait, drafts. */

import { barriers, expect, input, over, say, sighting, test } from "./stage";

test.skip(() => process.env.HOLON_PAGE_URL !== undefined, "the stand-in's own scripts");

test("a message is edited into a branch, and both ways stay", async ({ page }) => {
  await page.goto("/");
  await say(page, "Make the greeting loud and test it");
  await over(page);
  const first = page.url();
  await page.locator(".said").hover();
  await page.getByRole("button", { name: "Edit this message" }).click();
  const editor = page.getByRole("textbox", { name: "Edit this message" });
  await editor.fill("Make it quiet instead");
  await editor.press("Enter");
  await expect(page).not.toHaveURL(first);
  await over(page);
  await expect(page.locator(".said-text")).toHaveText("Make it quiet instead");
  await expect(page.locator(".versions")).toContainText("2 of 2");
  await page.getByRole("button", { name: "The version before" }).click();
  await expect(page).toHaveURL(first);
  await expect(page.locator(".said-text")).toHaveText("Make the greeting loud and test it");
  await expect(page.locator(".versions")).toContainText("1 of 2");
  await page.getByRole("button", { name: "Branches of this conversation" }).click();
  await expect(page.getByTestId("tree").locator("li")).toHaveCount(2);
  await expect(page.getByTestId("tree").locator('li[data-active="true"]')).toHaveCount(1);
  expect(await barriers(page)).toEqual([]);
  await page.screenshot({ path: `${process.env.HOLON_PAGE_SHOTS ?? "test-results"}/branches.png` });
});

test("an answer is asked for again", async ({ page }) => {
  await page.goto("/");
  await say(page, "Make the greeting loud and test it");
  await over(page);
  const first = page.url();
  await page.getByRole("button", { name: "Answer again" }).click();
  await expect(page).not.toHaveURL(first);
  await over(page);
  await expect(page.locator(".said-text")).toHaveText("Make the greeting loud and test it");
  await expect(page.locator(".versions")).toContainText("2 of 2");
});

test("what is said during a turn waits for its end, and says so", async ({ page }) => {
  await page.goto("/");
  await say(page, "slow one");
  await expect(page.locator(".stop")).toBeVisible();
  await input(page).fill("Make the greeting loud and test it");
  await input(page).press("Enter");
  const queue = page.getByTestId("queue");
  await expect(queue).toContainText("Sent when this turn ends:");
  await expect(queue).toContainText("Make the greeting loud");
  await expect(input(page)).toHaveValue("");
  expect(await barriers(page)).toEqual([]);
  await page.screenshot({ path: `${process.env.HOLON_PAGE_SHOTS ?? "test-results"}/queue.png` });
  // It outlives a reload, and is sent by itself.
  await page.reload();
  await expect(queue).toBeVisible();
  await expect(page.locator(".said-text")).toHaveText(["slow one", "Make the greeting loud and test it"], { timeout: 15_000 });
  await expect(queue).toBeHidden();
});

test("the turn under way is stopped for what waits", async ({ page }) => {
  await page.goto("/");
  await say(page, "slow: explain at length");
  await input(page).fill("Make the greeting loud and test it");
  await input(page).press("Enter");
  const stopped = await sighting(page, '.trouble[data-code="cancelled"]');
  await page.getByRole("button", { name: "Stop this turn and send now" }).click();
  await stopped();
  await expect(page.locator(".said-text")).toHaveText(["slow: explain at length", "Make the greeting loud and test it"]);
});

test("drafts are kept for each thread, over a reload", async ({ page }) => {
  await page.goto("/#/t/t-small");
  await input(page).fill("half a thought");
  await page.goto("/#/");
  await expect(input(page)).toHaveValue("");
  await page.goto("/#/t/t-small");
  await page.reload();
  await expect(input(page)).toHaveValue("half a thought");
  await input(page).fill("");
});
