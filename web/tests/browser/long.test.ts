import { expect, over, SAY, say, test } from "./stage";

const PATH = `${"a-long-folder-name/".repeat(6)}${"and_a_name_that_does_not_break_".repeat(3)}.txt`;

test("a long path shows its name and pushes nothing out of the panel", async ({ page }) => {
  await page.route("**/api/threads/*/diff", (route) =>
    route.fulfill({
      contentType: "application/json",
      body: JSON.stringify({
        patch: `diff --git a/x.txt b/x.txt\n--- a/x.txt\n+++ b/x.txt\n@@ -1 +1 @@\n-a\n+b\n`,
        files: [
          { path: PATH, status: "added" },
          { path: "x.txt", status: "modified" },
        ],
        insertions: 1, deletions: 1, ignored: 0, moved: [], sensitive: [],
      }),
    }),
  );
  await page.goto("/");
  await say(page, SAY.build);
  await over(page);
  const panel = page.locator(".panel");
  await expect(panel.locator(".path-name").first()).toContainText("and_a_name");
  for (const part of [".file", ".path-name", ".file-count"]) {
    await expect(panel.locator(part).last()).toBeVisible();
    const room = () => panel.locator(part).last().evaluate((element) => {
      const [box, around] = [element.getBoundingClientRect(), element.closest(".panel")?.getBoundingClientRect()];
      return { width: box.width, left: (around?.right ?? 0) - box.right };
    });
    await expect.poll(async () => (await room()).left, { message: part }).toBeGreaterThanOrEqual(0);
    await expect.poll(async () => (await room()).width, { message: part }).toBeGreaterThan(10);
  }
  await expect.poll(() => panel.locator(".path-name").first().evaluate((element) => element.clientWidth)).toBeGreaterThan(80);
});

test("a text that is too long is not cut without a word", async ({ page, stage }) => {
  stage.expected.push("413");
  await page.route("**/api/chat/*", (route) =>
    route.fulfill({
      status: 413,
      contentType: "application/problem+json",
      body: JSON.stringify({ code: "too_large", message: "the message is too long", hint: "send long texts as files" }),
    }),
  );
  await page.goto("/");
  const long = "long text ".repeat(30_000);
  await page.locator(".composer textarea").fill(long);
  await page.locator(".send").click();
  await expect(page.locator(".problem")).toContainText("send long texts as files");
  await expect(page.locator(".composer textarea")).toHaveValue(long);
});

test("an answer of 100 KB that comes quickly keeps the page free", async ({ page, server }) => {
  test.skip(server.real, "the stand-in's own script");
  await page.goto("/");
  await page.evaluate(() => {
    const tasks: number[] = [];
    Object.assign(globalThis, { __tasks: tasks });
    new PerformanceObserver((list) => tasks.push(...list.getEntries().map((entry) => entry.duration))).observe({ type: "longtask" });
  });
  await say(page, "huge answer");
  await expect(page.locator(".answer").last()).toContainText("The very last words.", { timeout: 50_000 });
  await over(page);
  const tasks = await page.evaluate(() => (globalThis as unknown as { __tasks: number[] }).__tasks);
  console.log(`long tasks: ${tasks.length}, the longest ${Math.max(0, ...tasks)} ms, together ${tasks.reduce((sum, one) => sum + one, 0)} ms`);
  // How long is a matter of the machine; that it does not grow with the answer is not.
  const early = tasks.slice(0, Math.ceil(tasks.length / 4));
  const late = tasks.slice(-Math.ceil(tasks.length / 4));
  const mean = (list: number[]) => list.reduce((sum, one) => sum + one, 0) / Math.max(1, list.length);
  expect(mean(late)).toBeLessThanOrEqual(3 * mean(early) + 100);
  await expect(page.locator(".answer .code-block").last()).toContainText("fn part_");
});
