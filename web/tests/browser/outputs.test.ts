/** What calls print and change: seen while it comes, its end never lost, the middle on demand, edits as they are. */

import { barriers, expect, openCards, over, say, test } from "./stage";

test.skip(() => process.env.HOLON_PAGE_URL !== undefined, "the stand-in's own scripts");

const shots = process.env.HOLON_PAGE_SHOTS ?? "test-results";

test("a long output is seen while it comes, and its middle on demand", async ({ page }) => {
  await page.goto("/");
  await say(page, "long output, please");
  await expect(page.getByTestId("running")).toContainText("test case_4001 ... ok");
  await page.screenshot({ path: `${shots}/running.png` });
  await over(page);
  await expect(page.getByTestId("running")).toHaveCount(0);
  await openCards(page);
  const output = page.getByTestId("output");
  await expect(output).toContainText("error: the last line says why");
  await expect(output.locator(".gap")).toContainText("left out");
  await output.locator(".gap").scrollIntoViewIfNeeded();
  expect(await barriers(page)).toEqual([]);
  await page.screenshot({ path: `${shots}/gap.png` });
  await output.getByRole("button", { name: "Show all" }).click();
  await expect(output.locator(".gap")).toHaveCount(0);
  const text = (await output.textContent()) ?? "";
  expect(text.match(/test case_\d+ \.\.\. ok\n/g)?.length).toBe(9000);
});

for (const scheme of ["light", "dark"] as const) {
  test(`edits show their lines and reads their numbers, ${scheme}`, async ({ page }) => {
    await page.emulateMedia({ colorScheme: scheme });
    await page.goto("/");
    await say(page, "edit card");
    await over(page);
    await openCards(page);
    await expect(page.locator(".patch .changed").first()).toBeVisible();
    await expect(page.locator(".numbered-line")).toHaveCount(5);
    await expect(page.locator(".numbered-line .tone-comment")).toHaveText("# a comment");
    await expect(page.locator(".markdown .tone-keyword")).toHaveText("fn");
    expect(await barriers(page)).toEqual([]);
    await page.screenshot({ path: `${shots}/cards-${scheme}.png`, fullPage: true });
  });
}
