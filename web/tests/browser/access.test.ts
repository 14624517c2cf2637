/** Keyboards, voices, enlarged pages, other scripts: what a picture of the page does not show. */

import type { Page } from "@playwright/test";
import { expect, fits, input, over, SAY, say, sighting, test, THREADS } from "./stage";

test("the focus is never nowhere: after an answer, on a new page, in a form", async ({ page }) => {
  await page.goto("/");
  await say(page, SAY.ask);
  const form = page.getByTestId("asked");
  await expect(form.getByRole("radio").first()).toBeFocused();
  await page.keyboard.press("Space");
  for (const area of await form.locator("textarea").all()) await area.fill("nothing");
  await form.getByRole("button", { name: "Answer" }).focus();
  await page.keyboard.press("Enter");
  await expect(page.locator(".asked-closed")).toBeVisible();
  await expect(input(page)).toBeFocused();
  await over(page);

  await page.goto("/#/runs");
  const start = page.getByRole("button", { name: "New run" });
  await start.focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("textbox", { name: "Goal" })).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(start).toBeFocused();
});

test("a link that goes away with its page hands the focus to the new page's heading", async ({ page }) => {
  const run = { id: "r-1", workspace: "/srv/x", mode: "execute", goal: "Wait", agent: "native", started_at: "2026-11-15T08:00:00Z", state: "finished", outcome: "failure", exit_code: 1, gate: null };
  await page.route("**/api/runs?**", (route) => route.fulfill({ contentType: "application/json", body: JSON.stringify({ runs: [run] }) }));
  await page.route("**/api/runs/r-1", (route) => route.fulfill({ contentType: "application/json", body: JSON.stringify({ ...run, manifest: null, artifacts: [] }) }));
  await page.route("**/api/runs/r-1/events**", (route) => route.fulfill({ contentType: "text/event-stream", body: "event: done\ndata: {}\n\n" }));
  await page.goto("/#/runs");
  await page.locator(".card a").focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1 })).toBeFocused();
  await expect(page.locator(".empty")).toHaveText("This run handed no artifacts back.");
  await page.getByRole("link", { name: "All runs" }).focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1, name: "Runs" })).toBeFocused();
});

test("what one says is seen, wherever one had scrolled to", async ({ page }) => {
  await page.setViewportSize({ width: 1300, height: 480 });
  await page.goto("/");
  await say(page, SAY.build);
  await over(page);
  // A row that is measured late may still bring the end back.
  await expect(async () => {
    await page.locator(".roll-box").evaluate((box) => box.scrollTo(0, 0));
    await expect(page.getByRole("button", { name: "Jump to the latest" })).toBeVisible({ timeout: 1000 });
  }).toPass();
  await say(page, "explain slowly");
  await expect(page.locator(".said-text").last()).toHaveText("explain slowly");
  await expect(page.locator(".said-text").last()).toBeInViewport();
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await over(page);
});

test("a window that becomes narrow during an answer covers nothing and takes no focus", async ({ page }) => {
  await page.goto("/");
  await say(page, "explain slowly");
  await expect(page.locator(".panel")).toBeVisible();
  await input(page).focus();
  await page.setViewportSize({ width: 900, height: 700 });
  await expect(page.locator(".panel")).toHaveCount(0);
  await expect(input(page)).toBeFocused();
  await expect(page.locator(".answer").last()).toContainText("word-5 ");
  await page.setViewportSize({ width: 1300, height: 700 });
  await expect(page.locator(".panel")).toBeVisible();
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await over(page);
});

test.describe("enlarged to 200 and to 400 per cent", () => {
  for (const [width, height] of [[640, 400], [320, 256]] as const) {
    test(`everything can be reached on ${width} by ${height}`, async ({ page }) => {
      await page.setViewportSize({ width, height });
      await page.goto("/");
      const field = page.getByRole("combobox", { name: "Workspace" });
      // What the server says about itself is there, and moves nothing any more.
      await expect(field).toHaveValue(/./);
      const edges = (selector: string) => page.locator(selector).evaluate((element) => element.getBoundingClientRect().toJSON() as DOMRect);
      await page.locator(".chat-new").evaluate((element) => element.scrollTo(0, 0));
      await expect.poll(async () => (await edges(".chat-new h1")).top - (await edges(".chat-new > .bar")).bottom).toBeGreaterThanOrEqual(0);
      await field.focus();
      await expect.poll(async () => (await edges(".workspace-field input")).bottom - (await edges(".composer")).top).toBeLessThanOrEqual(1);
      await say(page, SAY.ask);
      await expect(page.getByTestId("asked")).toBeVisible();
      // Most of the window is for reading.
      await expect.poll(async () => (await edges(".roll-box")).height).toBeGreaterThan(height * 0.45);
      await fits(page);
    });
  }
});

test("a question that is taller than the view is shown from its beginning, where the focus is", async ({ page }) => {
  const event = (id: number, name: string, data: object) => `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
  const options = Array.from({ length: 30 }, (_, at) => `Option ${at}: ${"words of an option ".repeat(6)}`);
  await page.route(`**/api/chat/${THREADS.small}/events**`, (route) =>
    route.fulfill({
      contentType: "text/event-stream",
      body:
        event(1, "turn", { turn: 1, mode: "build", message: "go", files: [{ id: "f", name: "a-long-name-".repeat(20), bytes: 1_234_567 }], at: "2026-11-15T08:00:00Z" }) +
        event(2, "interrupt", { id: "i", questions: [{ call: "1", question: "Which one?", options }] }) +
        "event: done\ndata: {}\n\n",
    }),
  );
  await page.goto(`/#/t/${THREADS.small}`);
  await expect(page.getByRole("radio", { name: /^Option 0/ })).toBeFocused();
  await expect(page.getByRole("radio", { name: /^Option 0/ })).toBeInViewport();
  await expect(page.getByText("Which one?")).toBeInViewport();
  await expect(page.locator(".asked .option").last()).not.toBeInViewport();
  // And a long name of a file leaves its size in one line.
  await page.locator(".roll-box").evaluate((box) => box.scrollTo(0, 0));
  await expect.poll(async () => (await page.locator(".said .chip .faint").boundingBox())?.height ?? 99).toBeLessThan(30);
});

test("a path without a place to break stays inside its dialog", async ({ page }) => {
  const path = `src/${"b".repeat(300)}.txt`;
  await page.route("**/api/threads/*/diff", (route) =>
    route.fulfill({
      contentType: "application/json",
      body: JSON.stringify({ patch: "", files: [{ path, status: "added" }], insertions: 1, deletions: 0, ignored: 0, moved: [], sensitive: [] }),
    }),
  );
  await page.route(/\/api\/threads\/[^/?]+\?/, async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, json: { ...(await answer.json()), workspace: `/srv/${"b".repeat(300)}` } });
  });
  await page.goto("/");
  await say(page, SAY.ask);
  await expect(page.getByTestId("asked")).toBeVisible();
  await page.locator("[data-part=changes]").getByRole("button", { name: "Apply" }).click();
  const box = page.locator(".dialog-box");
  await expect(box).toContainText("bbbb");
  await expect.poll(() => box.evaluate((element) => element.scrollWidth - element.clientWidth)).toBeLessThanOrEqual(0);
});

/** Where the first and the last character of an element's text are drawn. */
const ends = (page: Page, selector: string) =>
  page.locator(selector).last().evaluate((element) => {
    const text = element.firstChild as Text;
    const at = (from: number) => {
      const range = document.createRange();
      range.setStart(text, from);
      range.setEnd(text, from + 1);
      return range.getBoundingClientRect().left;
    };
    return { first: at(0), last: at(text.length - 1) };
  });

test("a text in a script from right to left is written and shown that way", async ({ page }) => {
  await page.goto("/");
  await input(page).fill("שלום, ask me!");
  await expect.poll(() => input(page).evaluate((area) => area.matches(":dir(rtl)"))).toBe(true);
  await say(page, "שלום, ask me שלום!");
  await expect(page.getByTestId("asked")).toBeVisible();
  await expect
    .poll(async () => {
      const { first, last } = await ends(page, ".said-text");
      return last - first;
    })
    .toBeLessThan(0);
});

test("a field and the place one writes in are found by their edge alone: three to one", async ({ page }) => {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await page.goto("/#/audit");
    const field = page.getByRole("searchbox").first();
    await expect(field).toBeVisible();
    await expect.poll(() => field.evaluate(edge, "borderTopColor"), { message: colorScheme }).toBeGreaterThanOrEqual(3);
    await page.goto("/#/");
    await input(page).focus();
    await expect(page.locator(".composer-box")).toHaveCSS("outline-style", "solid");
    await expect.poll(() => page.locator(".composer-box").evaluate(edge, "outlineColor"), { message: colorScheme }).toBeGreaterThanOrEqual(3);
  }
});

/** The contrast of a colour of an element to what is behind it. */
function edge(element: Element, which: string): number {
  const parts = (colour: string) => (colour.match(/[\d.]+/g) ?? []).map(Number);
  const light = (colour: string) => {
    const [red = 0, green = 0, blue = 0] = parts(colour).map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  let behind = element.parentElement;
  while (behind && parts(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
  const [one, two] = [light(String(getComputedStyle(element)[which as "color"])), light(getComputedStyle(behind ?? document.body).backgroundColor)];
  return (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
}

test("Enter that ends an input method's word sends nothing, in Safari's order of events either", async ({ page }) => {
  await page.goto("/");
  await input(page).fill("ni hao");
  await expect(page.locator(".send")).toBeEnabled();
  await input(page).evaluate((area) => area.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", keyCode: 229, bubbles: true, cancelable: true })));
  await expect(input(page)).toHaveValue("ni hao");
  await expect(page).not.toHaveURL(/#\/t\//);
});

test("a file let go anywhere is attached, and never replaces the page", async ({ page }) => {
  await page.goto("/");
  // It has the focus as soon as it listens.
  await expect(input(page)).toBeFocused();
  const prevented = await page.evaluate(() => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File(["abc"], "notes.txt", { type: "text/plain" }));
    const event = new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true });
    document.querySelector(".sidebar")?.dispatchEvent(event);
    return event.defaultPrevented;
  });
  expect(prevented).toBe(true);
  await expect(page.locator(".composer .chip")).toHaveCount(1);
});

test("copying works without a clipboard interface, as over plain HTTP from another machine", async ({ page }) => {
  await page.addInitScript(() => {
    Object.defineProperty(navigator, "clipboard", { value: undefined });
    document.addEventListener("copy", () => {
      (globalThis as { __copied?: string }).__copied = String((document.activeElement as HTMLTextAreaElement | null)?.value);
    });
  });
  await page.goto(`/#/t/${THREADS.small}`);
  // The thread is there whole as soon as something can be said in it; until then the last answer is another one each time.
  await input(page).fill("x");
  await expect(page.locator(".send")).toBeEnabled();
  const copy = page.locator('.answer-acts [aria-label="Copy this answer"]').last();
  await copy.focus();
  // It says so for a moment.
  const copied = await sighting(page, '.copy[aria-label="Copied"]:focus');
  await page.keyboard.press("Enter");
  await copied();
  await expect(copy).toBeFocused();
  expect(await page.evaluate(() => (globalThis as { __copied?: string }).__copied)).toContain("parses its input");
});

test("code in an answer hides nothing", async ({ page }) => {
  const event = (id: number, name: string, data: object) => `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
  await page.route(`**/api/chat/${THREADS.small}/events**`, (route) =>
    route.fulfill({
      contentType: "text/event-stream",
      body: event(1, "turn", { turn: 1, mode: "build", message: "go", files: [], at: "2026-11-15T08:00:00Z" }) + event(2, "message", { text: "Run `rm \u202Etxt.a`:\n\n```sh\nrm \u202Etxt.a\n```\n" }) + "event: done\ndata: {}\n\n",
    }),
  );
  await page.goto(`/#/t/${THREADS.small}`);
  await expect(page.locator(".answer code")).toHaveText(["rm ⟨U+202E⟩txt.a", "rm ⟨U+202E⟩txt.a\n"]);
});
