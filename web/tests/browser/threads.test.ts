/** The list of threads: searched, renamed, pinned, archived, kept as files; and words found in a long conversation. */

import { barriers, expect, over, say, test } from "./stage";

test.skip(() => process.env.HOLON_PAGE_URL !== undefined, "the stand-in's own scripts");

const shots = process.env.HOLON_PAGE_SHOTS ?? "test-results";

test("words are found in all threads, and shown where they stand", async ({ page }) => {
  await page.goto("/");
  await page.getByRole("searchbox", { name: "Search all threads" }).fill("question 17");
  await expect(page.getByTestId("found").locator("li").first()).toBeVisible();
  await expect(page.getByTestId("found").locator("mark").first()).toHaveText("Question 17");
  expect(await barriers(page)).toEqual([]);
  await page.screenshot({ path: `${shots}/search.png` });
  await page.getByTestId("found").getByRole("link").first().click();
  await expect(page.locator(".entry[data-found]")).toBeInViewport();
  await expect(page.locator(".entry[data-found]")).toContainText("Question 17");
  await expect(page.locator(".find-bar [role=status]")).toContainText("of");
  await page.screenshot({ path: `${shots}/find.png` });
  await page.keyboard.press("Escape");
  await expect(page.locator(".find-bar")).toHaveCount(0);
});

test("the next place is found among thousands of rows", async ({ page }) => {
  await page.goto("/#/t/t-big");
  await expect(page.locator(".roll-row").first()).toBeVisible();
  await page.keyboard.press("Control+Shift+F");
  const field = page.getByRole("searchbox", { name: "Find in this conversation" });
  await field.fill("what does module 1234 do");
  await expect(page.locator(".entry[data-found]")).toBeInViewport();
  await expect(page.locator(".find-bar [role=status]")).toHaveText("1 of 1");
  await field.fill("nowhere to be found");
  await expect(page.locator(".find-bar [role=status]")).toHaveText("Not found");
});

test("a thread is renamed, pinned, archived and kept as a file", async ({ page }) => {
  await page.goto("/");
  await say(page, "Make the greeting loud and test it");
  await over(page);
  const item = page.locator(".thread-item", { hasText: "Make the greeting" }).first();
  const more = () => page.locator('.thread-item[data-active="true"]').getByRole("button", { name: /^More about/ });
  await item.hover();
  await more().click();
  expect(await barriers(page)).toEqual([]);
  await page.screenshot({ path: `${shots}/thread.png` });
  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save as Markdown" }).click();
  expect((await saved).suggestedFilename()).toMatch(/^t-.*\.md$/);
  await page.getByRole("textbox", { name: "Name" }).fill("A loud greeting");
  await page.getByRole("button", { name: "Rename" }).click();
  await expect(page.locator('.thread-item[data-active="true"] .thread-title')).toHaveText("A loud greeting");
  await more().click();
  await page.getByRole("button", { name: "Pin to the top" }).click();
  await expect(page.locator(".thread-item").first().locator(".thread-pin")).toBeVisible();
  await more().click();
  await page.getByRole("button", { name: "Archive", exact: true }).click();
  await expect(page.locator(".thread-item", { hasText: "A loud greeting" })).toHaveCount(0);
  await page.getByRole("button", { name: "Show archived" }).click();
  await expect(page.locator(".thread-item", { hasText: "A loud greeting" })).toHaveCount(1);
  await page.screenshot({ path: `${shots}/archived.png` });
});
