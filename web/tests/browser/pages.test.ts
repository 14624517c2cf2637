import { en } from "../../src/i18n/en";
import { zh } from "../../src/i18n/zh";
import { admit, barriers, expect, fits, inert, input, openCards, over, RUN, SAY, say, test, THREADS } from "./stage";

test("language and theme are chosen, at once and for later", async ({ page }) => {
  await page.goto("/");
  await page.getByLabel("Language").selectOption("zh");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("要做些什么？");
  await expect(page.locator("html")).toHaveAttribute("lang", "zh-CN");
  await page.getByLabel("外观").selectOption("dark");
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.reload();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("要做些什么？");
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
});

test("what the server stored in another language is told in the page's own", async ({ page }) => {
  const event = (id: number, name: string, data: object) => `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
  await page.route(`**/api/chat/${THREADS.small}/events**`, (route) =>
    route.fulfill({
      contentType: "text/event-stream",
      body:
        event(1, "turn", { turn: 1, mode: "build", message: "go", files: [], at: "2026-11-15T08:00:00Z" }) +
        event(2, "error", { message: "服务器在本轮进行中停止", code: "interrupted" }) +
        "event: done\ndata: {}\n\n",
    }),
  );
  await page.goto(`/#/t/${THREADS.small}`);
  await expect(page.locator(".trouble")).toContainText("The server stopped during this turn");
  await expect(page.locator(".trouble")).not.toContainText("服务器");
});

test("the address is enough to come back", async ({ page }) => {
  await page.goto("/");
  await say(page, SAY.ask);
  // What the server has not taken yet would be lost with the page.
  await expect(page.locator(".roll-row .said-text")).toHaveText(SAY.ask);
  const address = page.url();
  await page.goto("about:blank");
  await page.goto(address);
  await expect(page.locator(".said-text")).toHaveText(SAY.ask);
});

test("a thread is deleted after asking", async ({ page }) => {
  await page.goto("/");
  await say(page, SAY.ask);
  await expect(page.getByTestId("asked")).toBeVisible();
  const item = page.locator('.thread-item[data-active="true"]');
  await expect(item).toHaveCount(1);
  const link = page.locator(`.thread-item a[href="${await item.locator("a").getAttribute("href")}"]`);
  await expect(link).toHaveCount(1);
  await item.getByRole("button").focus();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Keep" }).click();
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect(link).toHaveCount(1);
  await item.getByRole("button").click({ force: true });
  await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("dialog").filter({ hasText: "unapplied changes" }).getByRole("button", { name: "Delete", exact: true }).click();
  await expect(link).toHaveCount(0);
  await expect(page.locator(".welcome")).toBeVisible();
});

test("a thread that does not exist says so", async ({ page, stage }) => {
  stage.expected.push("404");
  await page.goto("/#/t/t-nowhere");
  await expect(page.locator(".problem")).toContainText("deleted");
});

test.describe("a page that was given no token", () => {
  test.use({ extraHTTPHeaders: {} });

  test("a server that asks for a token gets it with every request", async ({ page, stage }) => {
    stage.expected.push("401");
    await page.route("**/api/**", (route) =>
      route.request().headers().authorization === "Bearer secret"
        ? admit(route)
        : route.fulfill({ status: 401, contentType: "application/problem+json", body: JSON.stringify({ code: "unauthorized", message: "a token is needed" }) }),
    );
    await page.goto("/");
    await page.getByLabel("Token").fill("secret");
    await page.getByRole("button", { name: "Continue" }).click();
    await expect(page.locator(".welcome")).toBeVisible();
    await say(page, SAY.ask);
    await expect(page.getByTestId("asked")).toBeVisible();
    expect(await page.evaluate(() => Object.values(localStorage).join())).not.toContain("secret");
  });
});

test("modes show every value and where it comes from", async ({ page }) => {
  await page.goto("/#/modes");
  await page.locator("main").getByRole("link", { name: /^plan(?!-)/ }).click();
  await expect(page.getByRole("heading", { name: "plan", exact: true })).toBeVisible();
  await page.getByPlaceholder("Filter").fill("write_file");
  await expect(page.locator("table.rows tbody tr")).toHaveCount(1);
  await expect(page.locator("table.rows tbody tr")).toContainText("deny");
});

test("the audit log is filtered and its chain verified", async ({ page, server, stage }) => {
  if (server.real) {
    await page.goto("/");
    await say(page, SAY.ask);
    await expect(page.getByTestId("asked")).toBeVisible();
  }
  await page.goto("/#/audit");
  await expect(page.locator("table.audit tbody tr").first()).toBeVisible();
  await page.getByRole("button", { name: "Verify the chain" }).click();
  await expect(page.locator(".verdict-good")).toBeVisible();
  const filter = page.getByLabel("Filter", { exact: true });
  await filter.fill("nothing-like-this");
  await expect(page.locator("table.audit tbody tr")).toHaveCount(0);
  await filter.fill("");
  await expect(page.locator("table.audit tbody tr").nth(1)).toBeVisible();
  // The latest first; one thread by its name in any row, a name that is none without an alarm.
  const numbers = (await page.locator("table.audit tbody tr td:first-child").allTextContents()).map(Number);
  expect(numbers).toEqual(numbers.toSorted((a, b) => b - a));
  const pick = page.getByRole("button", { name: /^Only thread / }).first();
  const name = (await pick.getAttribute("title")) ?? "";
  await pick.click();
  await expect(page.getByLabel("Thread", { exact: true })).toHaveValue(name);
  await expect(page.locator("table.audit .audit-thread").first()).toContainText(name.slice(0, 14));
  await expect(page.locator("table.audit .audit-thread").filter({ hasNotText: name.slice(0, 14) })).toHaveCount(0);
  stage.expected.push("Failed to load resource");
  await page.getByLabel("Thread", { exact: true }).fill("t-nothing");
  await expect(page.locator(".empty")).toContainText("Nothing is recorded about a thread of this name");
  await expect(page.locator(".problem")).toHaveCount(0);
});

test("an artifact that is not what its name says is shown as it is, not as a report of nothing", async ({ page }) => {
  const files: Record<string, string> = { "review.json": '{"odd": 1}', "ethics.json": '{"odd": 2}' };
  const run = {
    id: "r-1", workspace: "/srv/x", mode: "review", goal: "Look", agent: "native", started_at: "2026-11-15T08:00:00Z", state: "finished", outcome: "failure", exit_code: 1, gate: null,
    manifest: { error: { kind: "artifact", message: "missing field `verdict`", hint: "`holon schema` shows the forms" } }, artifacts: Object.keys(files).map((path) => ({ path, bytes: 10 })),
  };
  await page.route("**/api/runs/r-1", (route) => route.fulfill({ contentType: "application/json", body: JSON.stringify(run) }));
  await page.route("**/api/runs/r-1/events**", (route) => route.fulfill({ contentType: "text/event-stream", body: "event: done\ndata: {}\n\n" }));
  await page.route("**/api/runs/r-1/files/*", (route) => route.fulfill({ contentType: "text/plain", body: files[route.request().url().split("/").pop() ?? ""] ?? "" }));
  await page.goto("/#/runs/r-1");
  await expect(page.locator(".problem code")).toHaveText(["verdict", "holon schema"]);
  await expect(page.getByRole("tabpanel").locator("pre")).toContainText('"odd": 1');
  await page.getByRole("tab", { name: /ethics.json/ }).click();
  await expect(page.getByRole("tabpanel").locator("pre")).toContainText('"odd": 2');
  await expect(page.getByRole("tabpanel").locator(".badge")).toHaveCount(0);
});

test.describe("runs of the stand-in", () => {
  test.skip(({ server }) => server.real, "the stand-in has one run of each kind");

  test("a gate is answered", async ({ page }) => {
    await page.goto("/#/runs");
    await page.locator(".card a").first().click();
    await expect(page.getByRole("heading", { name: /Gate before/ })).toBeVisible();
    await expect(page.getByRole("tabpanel")).toContainText("A loud greeting");
    await page.getByRole("tab", { name: /plan.json/ }).click();
    await expect(page.getByRole("tabpanel")).toContainText("Add the parameter");
    await page.getByRole("button", { name: "Approve" }).click();
    await expect(page.locator(".run-facts")).toContainText("success");
  });

  test("a run under way is stopped", async ({ page }) => {
    await page.goto("/#/runs/20261115-072000-eeeeee");
    await expect(page.locator(".run-facts")).toContainText("running");
    await page.getByRole("button", { name: "Stop the run" }).click();
    await expect(page.locator(".run-facts")).toContainText("failure");
    await expect(page.getByRole("button", { name: "Stop the run" })).toHaveCount(0);
  });

  test("findings are at their lines, the patch side by side, the ethics report with its checks", async ({ page }) => {
    await page.goto("/#/runs/20261115-075500-bbbbbb");
    await expect(page.locator(".finding").first().locator(".line-no").first()).toHaveText("1");
    await expect(page.locator(".finding").nth(1).locator(".line-no").first()).toHaveText("4");
    await page.goto("/#/runs/20261115-074000-cccccc");
    await expect(page.getByRole("tabpanel").locator("td.new").first()).toBeVisible();
    await page.getByRole("tab", { name: /diff.patch/ }).focus();
    await page.keyboard.press("ArrowRight");
    await expect(page.getByRole("tab", { name: /ethics.json/ })).toHaveAttribute("aria-selected", "true");
    await expect(page.getByRole("tabpanel")).toContainText("unverified");
    await page.goto("/#/runs/20261115-073000-dddddd");
    await expect(page.locator(".problem")).toContainText("set OPENROUTER_API_KEY");
  });

  test("the task graph marks the live step, for eyes and for readers", async ({ page }) => {
    await page.goto("/");
    await say(page, SAY.build);
    await over(page);
    await expect(page.locator('.step[data-live="true"]')).toContainText("Summarize");
    await expect(page.locator('.graph li[aria-current="step"]')).toContainText("under way");
    await expect(page.locator(".step")).toHaveCount(5);
    await expect(page.getByTestId("closed")).toHaveText("closed to other calls");
    await expect(page.locator("[data-part=usage]")).toContainText("$0.04");
  });

  test("what was noticed and done is told in sentences, and a stop is followed by one click", async ({ page }) => {
    await page.goto("/");
    await say(page, SAY.stuck);
    await over(page);
    const part = page.locator("[data-part=supervisor]");
    await expect(part.locator(".supervisor")).not.toContainText("Steps of the plan");
    await expect(part.locator(".reasons li")).toHaveCount(4);
    await expect(part.locator(".reasons li").first()).toHaveText("Round 16: the takeover used 8 rounds without progress; stopped for a person.");
    await part.getByRole("button", { name: "Show more" }).click();
    const sentences = part.locator(".reasons");
    await expect(sentences).toContainText("Round 3: the same failure came 3 times and no file changed in between; told the agent so.");
    await expect(sentences).toContainText("Round 7: sh build.sh had failed 6 times in the same way and nothing had changed since; did not run it this once.");
    await expect(sentences).toContainText("Round 10: switched heard_of:nothing");
    await expect(sentences.getByText(/made a note of it/)).toHaveCount(0);
    expect(await barriers(page)).toEqual([]);
    await input(page).fill("half a thought");
    await page.locator('.trouble[data-code="stopped"]').getByRole("button", { name: "Continue" }).click();
    await expect(page.locator(".said-text").last()).toHaveText("continue");
    await over(page);
    await expect(page.locator(".answer").last()).toContainText("What I did");
    await expect(input(page)).toHaveValue("half a thought");
    await expect(input(page)).toBeFocused();
    await expect(page.getByRole("button", { name: "Continue" })).toHaveCount(0);
  });

  test.describe("in Chinese", () => {
    test.use({ locale: "zh-CN" });
    test("the sentences and the click are Chinese", async ({ page }) => {
      await page.goto("/");
      await say(page, SAY.stuck);
      await over(page);
      await expect(page.locator(".reasons li").first()).toHaveText("第 16 轮：接管已用 8 轮而没有进展；已停止，等待人工处理。");
      await page.locator(".trouble").getByRole("button", { name: "继续" }).click();
      await expect(page.locator(".said-text").last()).toHaveText("继续");
      await over(page);
    });
  });
});

test.describe("with the real server", () => {
  test.skip(({ server }) => !server.real, "a real run, and a real supervisor");

  test("a run waits at its gate, is approved, and shows what it made", async ({ page }) => {
    await page.goto(`/#/runs/${RUN}`);
    await expect(page.getByRole("heading", { name: /Gate before/ })).toBeVisible();
    await expect(page.getByRole("tabpanel")).toContainText("A loud greeting <img");
    await inert(page);
    await page.getByRole("button", { name: "Approve" }).click();
    await expect(page.locator(".run-facts")).toContainText("success", { timeout: 30_000 });
    await page.getByRole("tab", { name: /diff.patch/ }).click();
    await expect(page.getByRole("tabpanel")).toContainText("<script>window.__pwned=1</script>");
    await inert(page);
    await page.locator(".evidence summary").click();
    await page.locator(".evidence").getByRole("button", { name: /^execute\/agent.log/ }).click();
    await expect(page.locator(".evidence pre")).toHaveText("looked around <img src=x onerror=window.__pwned=1>\n");
    await inert(page);
  });

  test("what is noticed in a stuck turn is shown in a sentence, and told on request", async ({ page }) => {
    await page.goto("/");
    await say(page, SAY.stuck);
    await over(page);
    const part = page.locator("[data-part=supervisor]");
    await expect(part.locator("[data-phase]")).toBeVisible();
    await expect(part.locator(".supervisor")).toContainText("advises only");
    await expect(part.locator(".reasons")).toContainText("the same failure came 3 times and no file changed in between; told the agent so.");
    await say(page, "~supervisor");
    await over(page);
    await expect(page.locator(".answer").last()).toContainText("notice:tool_repeat_fail");
    await expect(page.locator(".answer").last()).toContainText("Last decisions");
  });

  test("a person asks the supervisor to take over", async ({ page }) => {
    await page.goto("/");
    await say(page, "explain slowly");
    await page.getByRole("button", { name: "Ask it to take over" }).click();
    await expect(page.getByRole("button", { name: "Asked to take over" })).toBeVisible();
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await over(page);
  });
});

test.describe("on a phone", () => {
  test.use({ viewport: { width: 390, height: 844 } });
  test("the drawers take the focus, close by Escape and give it back", async ({ page }) => {
    await page.goto("/");
    const menu = page.getByRole("button", { name: "Menu" });
    await menu.click();
    await expect(page.locator(".sidebar :focus")).toHaveCount(1);
    await page.keyboard.press("Escape");
    await expect(page.locator(".sidebar")).not.toBeInViewport();
    await expect(menu).toBeFocused();
    await say(page, SAY.ask);
    await expect(page.getByTestId("asked")).toBeVisible();
    await page.getByRole("button", { name: "Details" }).click();
    await expect(page.locator(".panel :focus")).toHaveCount(1);
    await page.keyboard.press("Escape");
    await expect(page.locator(".panel")).toHaveCount(0);
  });
});

for (const [name, use] of [
  ["light, English", { colorScheme: "light", locale: "en-US" }],
  ["dark, Chinese", { colorScheme: "dark", locale: "zh-CN" }],
  ["a phone", { colorScheme: "dark", locale: "en-US", viewport: { width: 390, height: 844 } }],
] as const) {
  test.describe(name, () => {
    test.use(use);
    test("has no barrier and nothing wider than the screen", async ({ page }) => {
      test.setTimeout(120_000);
      const look = async (where: string) => {
        expect(await barriers(page), where).toEqual([]);
        await fits(page, where);
      };
      await page.goto("/");
      await expect(page.locator(".welcome")).toBeVisible();
      await look("welcome");
      await say(page, SAY.build);
      await over(page);
      await openCards(page);
      await look("conversation");
      if (use.locale === "en-US" && "viewport" in use) {
        await page.getByRole("button", { name: "Details" }).click();
        await expect(page.locator(".file").first()).toBeVisible();
        await look("drawer");
      }
      await page.locator(".file").first().click();
      await expect(page.getByRole("dialog").locator(".patch")).toBeVisible();
      await look("diff");
      await page.keyboard.press("Escape");
      if ("viewport" in use) await page.locator(".panel-head button").click();
      await say(page, SAY.ask);
      await expect(page.getByTestId("asked")).toBeVisible();
      await look("question");
      for (const path of ["runs", "audit", "modes"] as const) {
        await page.goto(`/#/${path}`);
        await expect(page.locator(".page h1")).toHaveText((use.locale === "zh-CN" ? zh : en)[`page.${path}`]);
        await expect(page.locator(".loading")).toHaveCount(0);
        await look(path);
      }
      await page.goto("/#/runs");
      const cards = page.locator(".card a");
      await expect(cards.first()).toBeVisible();
      const count = Math.min(3, await cards.count());
      for (let at = 0; at < count; at++) {
        await cards.nth(at).click();
        await expect(page.locator(".run-facts")).toBeVisible();
        await expect(page.locator(".loading")).toHaveCount(0);
        await look(`run ${at}`);
        await page.goto("/#/runs");
      }
    });
  });
}
