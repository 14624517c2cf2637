import { cut, expect, inert, input, openCards, over, say, sighting, test, THREADS } from "./stage";

const words = async (page: import("@playwright/test").Page) => ((await page.locator(".answer").last().textContent()) ?? "").match(/word-\d+/g) ?? [];
/** Turns the wheel upwards for a hundred frames; the usual time of one, in milliseconds. */
function scrollUp(page: import("@playwright/test").Page): Promise<number> {
  return page.locator(".roll-box").evaluate(async (box) => {
    const times: number[] = [];
    let last = performance.now();
    for (let step = 0; step < 100; step++) {
      box.scrollTop -= 300;
      await new Promise(requestAnimationFrame);
      times.push(performance.now() - last);
      last = performance.now();
    }
    return times.sort((a, b) => a - b)[50] ?? Number.NaN;
  });
}

const all = Array.from({ length: 60 }, (_, at) => `word-${at}`);

test.describe("streams", () => {
  test("a connection cut in the middle is taken up again: every word once, in order", async ({ page, server, stage }) => {
    stage.expected.push("net::ERR", "Failed to load resource");
    const attached: string[] = [];
    page.on("request", (request) => request.url().includes("/events?live=true&after=") && attached.push(request.url()));
    await page.goto("/");
    await say(page, "drop the connection");
    // The stand-in cuts connections by itself; the real server's are cut here, twice.
    for (const word of server.real ? ["word-5 ", "word-20 "] : []) {
      await expect(page.locator(".answer").last()).toContainText(word);
      const lost = await sighting(page, ".link-lost");
      await cut(page, server.url);
      await lost();
    }
    await expect(page.locator(".answer").last()).toContainText("word-59", { timeout: 20_000 });
    await over(page);
    expect(await words(page)).toEqual(all);
    expect(attached.length).toBeGreaterThanOrEqual(2);
  });

  test("a reload in the middle goes on where it was", async ({ page }) => {
    await page.goto("/");
    await say(page, "slowly");
    await expect(page.locator(".answer").last()).toContainText("word-5 ");
    await page.reload();
    await expect(page.locator(".stop")).toBeVisible();
    await expect(page.locator(".answer").last()).toContainText("word-59", { timeout: 15_000 });
    await over(page);
    expect(await words(page)).toEqual(all);
  });

  test("a turn can be watched, left, and stopped", async ({ page }) => {
    await page.goto("/");
    await say(page, "explain slowly");
    await expect(page.locator(".answer").last()).toContainText("word-3 ");
    await page.getByRole("link", { name: "Modes", exact: true }).click();
    await expect(page.getByRole("heading", { name: "Modes" })).toBeVisible();
    await page.goBack();
    await expect(page.locator(".answer").last()).toContainText("word-8 ");
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await expect(page.locator('.trouble[data-code="cancelled"]')).toBeVisible();
    await over(page);
    expect((await words(page)).length).toBeLessThan(600);
  });

  test("trouble with the model says what to do", async ({ page }) => {
    await page.goto("/");
    await say(page, "fail please");
    await expect(page.locator('.trouble[data-code="model"]')).toContainText(/529|401/);
    await expect(page.locator('.trouble[data-code="model"]')).toContainText("Check the key");
  });

  test("hostile text stays text", async ({ page, server }) => {
    await page.goto("/");
    await say(page, "hostile");
    await over(page);
    await page.locator(".tool-head").first().click();
    await expect(page.locator(".answer").last()).toContainText("<script>");
    await inert(page);
    const links = await page.locator(".answer a").evaluateAll((list) => list.map((link) => [link.getAttribute("href"), link.getAttribute("rel")]));
    for (const [href, rel] of links) {
      expect(href).toMatch(/^https?:/);
      expect(rel).toContain("noopener");
    }
    await expect(page.locator(".bar-title")).toContainText("<img src=x onerror=window.__pwned=1");
    if (!server.real) return;
    // Names of files and folders, what they hold, what a command printed, and the same in the audit log.
    const file = page.locator("[data-part=changes] .file").first();
    await expect(file).toContainText("<svg onload");
    await file.click();
    await expect(page.locator(".patch")).toContainText("<script>window.__pwned=1</script>");
    await inert(page);
    await page.keyboard.press("Escape");
    await openCards(page);
    await inert(page);
    await page.goto("/#/audit");
    await expect(page.locator("table.audit tbody tr").first()).toBeVisible();
    await inert(page);
  });

  test("5,000 messages stay smooth", { tag: "@long" }, async ({ page }) => {
    const opened = async (thread: string, last: string) => {
      const began = Date.now();
      await page.goto(`/#/t/${thread}`);
      await expect(page.getByText(last)).toBeVisible();
      return Date.now() - began;
    };
    const typed = async () => {
      const began = Date.now();
      await input(page).pressSequentially("a sentence of thirty letters..");
      return Date.now() - began;
    };
    // What a short thread takes here says how busy the machine is.
    const [usual, writing] = [await opened(THREADS.small, "Module 200 parses"), await typed()];
    expect(await opened(THREADS.big, "Module 2500 parses")).toBeLessThan(Math.max(6000, 12 * usual));
    // Only what is in view exists.
    expect(await page.locator(".roll-row").count()).toBeLessThan(80);

    const long = await scrollUp(page);
    await page.goto(`/#/t/${THREADS.small}`);
    await expect(page.getByText("Module 200 parses")).toBeVisible();
    const short = await scrollUp(page);
    // A frame costs what is in view, not what there is: twelve times as many rows, about the same time.
    expect(long).toBeLessThan(Math.max(2 * short, 34));
    await page.goto(`/#/t/${THREADS.big}`);
    await expect(page.getByText("Module 2500 parses")).toBeVisible();
    await page.locator(".roll-box").evaluate((box) => box.scrollTo(0, 0));
    await expect(page.getByText("Question 1: what does module 1 do?")).toBeVisible();
    await page.getByRole("button", { name: "Jump to the latest" }).click();
    await expect(page.getByText("Module 2500 parses")).toBeVisible();

    // Writing does not feel the thread above.
    expect(await typed()).toBeLessThan(Math.max(3000, 3 * writing));
    // The next turn is appended like any other.
    await say(page, "explain slowly");
    await expect(page.locator(".answer").last()).toContainText("word-3 ");
    await page.getByRole("button", { name: "Stop", exact: true }).click();
  });

  test("who leaves the end is not taken back by a drawing in the same moment", { tag: "@long" }, async ({ page }) => {
    await page.goto(`/#/t/${THREADS.small}`);
    await expect(page.getByText("Module 200 parses")).toBeVisible();
    await page.locator(".roll-box").evaluate((box) => {
      box.scrollTo(0, 0);
      // Drawn at once, before the browser tells of the scrolling.
      dispatchEvent(new Event("beforeprint"));
      dispatchEvent(new Event("afterprint"));
    });
    await expect(page.getByText("Question 1: what does module 1 do?")).toBeVisible();
    await expect(page.getByRole("button", { name: "Jump to the latest" })).toBeVisible();
  });

  test("what is read stays in place while rows above are measured", { tag: "@long" }, async ({ page }) => {
    await page.goto(`/#/t/${THREADS.big}`);
    await expect(page.getByText("Module 2500 parses")).toBeVisible();
    const box = page.locator(".roll-box");
    await box.evaluate((element) => {
      element.scrollTop = element.scrollHeight / 2;
    });
    await page.waitForFunction(() => document.querySelectorAll(".roll-row").length > 5);
    // Each step up moves what is in view by about the step, never by a row more.
    const jumps = await box.evaluate(async (element) => {
      // To the end of a frame: sizes are observed after its callbacks, and before it is painted.
      const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      await frame();
      await frame();
      const worst: number[] = [];
      for (let step = 0; step < 40; step++) {
        const row = [...element.querySelectorAll<HTMLElement>(".roll-row")].find((one) => one.getBoundingClientRect().top > 200);
        const key = row?.dataset.key;
        const before = row?.getBoundingClientRect().top ?? 0;
        element.scrollTop -= 90;
        await frame();
        await frame();
        const after = element.querySelector(`[data-key="${key}"]`)?.getBoundingClientRect().top ?? Number.NaN;
        worst.push(Math.abs(after - before - 90));
      }
      return worst;
    });
    expect(jumps.filter((jump) => jump > 3)).toEqual([]);
  });
});
