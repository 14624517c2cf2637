import { expect, over, SAY, say, sighting, test, THREADS } from "./stage";

test("an answer is copied as it was written", async ({ page, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto("/");
  await say(page, SAY.build);
  await over(page);
  const answer = page.locator(".answer").last();
  await answer.hover();
  // It says so for a moment.
  const copied = await sighting(page, '.answer-acts .copy[aria-label="Copied"]');
  await answer.getByRole("button", { name: "Copy this answer" }).click();
  await copied();
  await expect.poll(async () => (await page.evaluate(() => navigator.clipboard.readText())).length).toBeGreaterThan(10);
});

test("on paper there is the whole conversation, and nothing around it", async ({ page }) => {
  await page.goto(`/#/t/${THREADS.small}`);
  await expect(page.locator(".entry").first()).toBeVisible();
  const rows = page.locator(".roll-row");
  const all = async () => Number(await rows.first().getAttribute("aria-setsize"));
  await expect.poll(all).toBeGreaterThan(1);
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await expect.poll(async () => (await all()) - (await rows.count())).toBe(0);
  await expect(page.locator(".composer")).toBeHidden();
  await expect(page.locator(".sidebar")).toBeHidden();
  await expect.poll(() => page.locator(".roll-box").evaluate((element) => element.scrollHeight - element.clientHeight)).toBeLessThanOrEqual(1);
  await expect(page.locator("main")).toHaveCSS("background-color", "rgb(255, 255, 255)");
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  await page.emulateMedia({ media: "screen" });
  await expect.poll(() => rows.count()).toBeLessThanOrEqual(60);
});
