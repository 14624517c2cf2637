import { barriers, expect, input, over, SAY, say, test } from "./stage";

test("build edits: cards with decision and result, a diff side by side, applied and undone", async ({ page }) => {
  await page.goto("/");
  await say(page, SAY.build);
  await expect(page.locator(".said-text")).toHaveText(SAY.build);
  await over(page);
  const edit = page.locator('.tool[data-state="ok"]').filter({ hasText: /edit_file|write_file/ }).first();
  await expect(edit).toBeVisible();
  const head = edit.locator(".tool-head");
  // A card that shows a diff is open already.
  if ((await head.getAttribute("aria-expanded")) === "false") await head.click();
  await expect(edit.locator(".facts")).toContainText("allowed");
  await expect(page.locator(".answer").last()).toBeVisible();

  const changes = page.locator("[data-part=changes]");
  await expect(changes.locator(".file").first()).toBeVisible();
  await changes.locator(".file").first().click();
  const diff = page.getByRole("dialog");
  await expect(diff.locator("td.new").first()).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(diff).toHaveCount(0);
  await expect(changes.locator(".file").first()).toBeFocused();

  await changes.getByRole("button", { name: "Undo" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Undo" }).click();
  await expect(changes).toContainText("No changes");
  await expect(page.locator('.entry[data-undone="true"]').first()).toBeVisible();
  expect(await barriers(page)).toEqual([]);

  await say(page, SAY.build);
  await over(page);
  await changes.getByRole("button", { name: "Apply" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Apply" }).click();
  await expect(changes.locator(".told")).toContainText("Applied");
  await expect(page.locator('.note[data-tone="applied"]')).toBeVisible();
});

test("a question is answered by keyboard alone, and the answer stays in the record", async ({ page }) => {
  await page.goto("/");
  await say(page, SAY.ask);
  const form = page.getByTestId("asked");
  await expect(form).toBeVisible();
  await expect(page.getByTestId("announcer")).toContainText("question");
  const options = form.getByRole("radio");
  await expect(options.first()).toBeFocused();
  await page.keyboard.press("Space");
  if ((await form.locator("textarea").count()) > 0) {
    await page.keyboard.press("Tab");
    await page.keyboard.type("nothing else");
  }
  await form.getByRole("button", { name: "Answer" }).focus();
  await page.keyboard.press("Enter");
  await expect(page.locator(".asked-closed dd").first()).not.toBeEmpty();
  await over(page);
  await expect(page.locator(".answer").last()).toBeVisible();
  const before = await page.locator(".entry").allTextContents();
  await page.reload();
  await expect.poll(() => page.locator(".entry").allTextContents()).toEqual(before);
  await expect(page.locator(".asked-closed")).toBeVisible();
});

test("a question that waits is still there after a reload, in both modes", async ({ page }) => {
  for (const name of ["Plan", "Build"]) {
    await page.goto("/#/");
    // The one of the thread before is gone.
    await expect(page.locator(".welcome")).toBeVisible();
    await page.getByTestId("mode-toggle").getByText(name).click();
    await expect(page.getByRole("radio", { name })).toBeChecked();
    await say(page, SAY.ask);
    await expect(page.getByTestId("asked")).toBeVisible();
    await page.reload();
    await expect(page.getByTestId("asked")).toBeVisible();
  }
});

test("a tool set to ask waits for approval; a rejection is passed on", async ({ page }) => {
  await page.goto("/");
  await say(page, SAY.ask);
  await expect(page.getByTestId("asked")).toBeVisible();
  await page.getByRole("button", { name: "Permissions" }).click();
  await page.locator(".rights label").filter({ hasText: "execute" }).locator("select").selectOption("ask");
  await expect(page.locator(".rights label").filter({ hasText: "execute" }).locator("select")).toHaveValue("ask");
  for (const [choice, record] of [["Approve", "Approved"], ["Reject", "Rejected"]] as const) {
    await say(page, SAY.build);
    const form = page.getByTestId("asked");
    await expect(form.locator("pre").first()).toBeVisible();
    await form.getByRole("button", { name: choice, exact: true }).click();
    await expect(page.locator(".asked-closed").last()).toContainText(record);
    await over(page);
  }
});

test("rights that were just changed hold for the very next message", async ({ page }) => {
  const order: string[] = [];
  await page.route("**/api/threads/*/tools", async (route) => {
    const answer = await route.fetch();
    await new Promise((resolve) => setTimeout(resolve, 400));
    order.push("rights");
    await route.fulfill({ response: answer });
  });
  await page.goto("/");
  await say(page, SAY.ask);
  await expect(page.getByTestId("asked")).toBeVisible();
  page.on("request", (request) => request.method() === "POST" && /\/api\/chat\/[^/]+$/.test(request.url()) && order.push("message"));
  await page.getByRole("button", { name: "Permissions" }).click();
  await page.locator(".rights label").filter({ hasText: "execute" }).locator("select").selectOption("ask");
  await say(page, "hello");
  await expect(page.locator(".said-text").last()).toHaveText("hello");
  await expect.poll(() => order).toEqual(["rights", "message"]);
});

test("what was written stays when the server refuses it", async ({ page, stage }) => {
  stage.expected.push("409", "Failed to load resource");
  await page.route("**/api/chat/*", (route) => route.fulfill({ status: 409, contentType: "application/problem+json", body: JSON.stringify({ code: "turn_running", message: "a turn is running" }) }));
  await page.goto("/");
  await say(page, "keep these words");
  await expect(page.locator(".problem")).toContainText("a turn is running");
  await expect(page.locator(".problem")).toContainText("another tab");
  await expect(page.locator(".said")).toHaveCount(0);
  await expect(input(page)).toHaveValue("keep these words");
});

test("files are sent along and can be taken back", async ({ page }) => {
  await page.goto("/");
  await page.locator("input[type=file]").setInputFiles([
    { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("abc") },
    { name: "other.txt", mimeType: "text/plain", buffer: Buffer.from("defg") },
  ]);
  await expect(page.getByRole("button", { name: /^Remove / })).toHaveCount(2);
  await page.getByRole("button", { name: "Remove other.txt" }).click();
  await expect(page.locator(".composer .chip")).toHaveCount(1);
  await say(page, SAY.ask);
  await expect(page.locator(".said .chip")).toHaveCount(1);
});
