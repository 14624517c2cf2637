/** Everything from the keyboard: the palette, and notices for those who look away. */

import { barriers, expect, input, over, say, test } from "./stage";

test.skip(() => process.env.HOLON_PAGE_URL !== undefined, "the stand-in's own threads");

test("the palette goes anywhere by a few letters", async ({ page }) => {
  await page.goto("/#/t/t-small");
  await expect(page.locator(".entry").first()).toBeVisible();
  await page.keyboard.press("Control+k");
  const list = page.getByTestId("palette");
  await expect(list.locator("li").first()).toBeVisible();
  expect(await barriers(page)).toEqual([]);
  await page.screenshot({ path: `${process.env.HOLON_PAGE_SHOTS ?? "test-results"}/palette.png` });
  await page.keyboard.type("audit");
  await expect(list.locator('li[aria-selected="true"]')).toContainText("Audit");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/#\/audit/);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("long thread");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/#\/t\/t-big/);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("find in");
  await page.keyboard.press("Enter");
  await expect(page.locator(".find-bar input")).toBeFocused();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("nothing is called this");
  await expect(page.getByRole("dialog")).toContainText("Nothing is called that.");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("plan mode");
  await page.keyboard.press("Enter");
  await expect(page.locator('.composer[data-mode="plan"]')).toBeVisible();
});

test("whoever looks away is told, if they asked for it", async ({ page, context }) => {
  await context.grantPermissions(["notifications"]);
  await page.addInitScript(() => {
    const told: string[] = [];
    Object.assign(globalThis, { __told: told });
    const Fake = function (title: string, options: NotificationOptions) {
      told.push(`${title}: ${options.body} ${options.silent}`);
    };
    Object.assign(globalThis, { Notification: Object.assign(Fake, { permission: "granted", requestPermission: async () => "granted" }) });
    let hidden = false;
    Object.defineProperty(document, "visibilityState", { get: () => (hidden ? "hidden" : "visible") });
    Object.assign(globalThis, { __hide: (value: boolean) => (hidden = value) });
  });
  const told = () => page.evaluate(() => (globalThis as unknown as { __told: string[] }).__told);
  await page.goto("/");
  await say(page, "Make the greeting loud and test it");
  await page.evaluate(() => (globalThis as unknown as { __hide: (value: boolean) => void }).__hide(true));
  await over(page);
  expect(await told()).toEqual([]);
  await page.getByRole("button", { name: /^Tell me when/ }).click();
  await expect(page.getByRole("button", { name: /^Tell me when/ })).toHaveAttribute("aria-pressed", "true");
  await input(page).fill("Make the greeting loud and test it");
  await input(page).press("Enter");
  await expect.poll(async () => (await told()).length).toBeGreaterThan(0);
  expect((await told()).at(-1)).toMatch(/^Make the greeting.*true$/s);
});
