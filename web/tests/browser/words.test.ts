/** What the server says in English is told to whoever reads another language in theirs. */

import { barriers, expect, input, over, SAY, say, test, THREADS } from "./stage";

const event = (id: number, name: string, data: object) => `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
const CHINESE = /[\u4e00-\u9fff]/;

test.describe("in Chinese", () => {
  test.use({ locale: "zh-CN" });

  test("a refusal is told by its code, and what only the server can name stays below it", async ({ page, stage }) => {
    stage.expected.push("Failed to load resource");
    let answer = { status: 409, code: "turn_running", message: "something is under way in this thread already", hint: "wait for its end" };
    await page.route("**/api/chat/*", (route) => {
      const { status, ...problem } = answer;
      return route.fulfill({ status, contentType: "application/problem+json", body: JSON.stringify(problem) });
    });
    await page.goto("/");
    await say(page, "你好");
    const problem = page.locator(".problem");
    await expect(problem.locator(".problem-what")).toHaveText("该会话正在执行另一轮。");
    await expect(problem.locator(".problem-remedy")).toContainText("其他标签页");
    await expect(problem.locator(".problem-detail")).toHaveCount(0);
    await expect(problem).not.toContainText("under way");

    answer = { status: 507, code: "disk_full", message: "cannot write `/srv/state/chat.db`: no space left", hint: "free some space" };
    await expect(input(page)).toHaveValue("你好");
    await input(page).press("Enter");
    await expect(problem.locator(".problem-what")).toHaveText("服务器的磁盘已满。");
    await expect(problem.locator(".problem-detail")).toHaveText("cannot write /srv/state/chat.db: no space left; free some space");
    // A voice reads it in its own language.
    await expect(problem.locator(".problem-detail")).toHaveAttribute("lang", "en");
    expect(await barriers(page)).toEqual([]);

    // A code that nobody here knows leaves the server's own words.
    answer = { status: 418, code: "teapot", message: "only tea is made here", hint: "ask for tea" };
    await expect(input(page)).toHaveValue("你好");
    await input(page).press("Enter");
    await expect(problem.locator(".problem-what")).toHaveText("only tea is made here");
    await expect(problem.locator(".problem-remedy")).toHaveText("ask for tea");
  });

  test("the end of a turn is told by its code", async ({ page }) => {
    const ends: [string, string, string | null][] = [
      ["max_iterations", "this turn asked the model 50 times, which is the limit, and was stopped", null],
      ["not_stored", "the end of the turn could not be stored; free some space where Holon keeps its state", null],
      ["disk_full", "the turn was stopped because it could not be stored: database or disk is full", "disk is full"],
      ["limit", "tokens is used up", "tokens"],
      ["workspace_gone", "/srv/work/gone is not there; put it back", "/srv/work/gone"],
    ];
    const body = ends.map(([code, message], at) => event(2 * at + 1, "turn", { turn: at + 1, mode: "build", message: "go", files: [], at: "2026-11-15T08:00:00Z" }) + event(2 * at + 2, "error", { code, message })).join("");
    await page.route(`**/api/chat/${THREADS.small}/events**`, (route) => route.fulfill({ contentType: "text/event-stream", body: `${body}event: done\ndata: {}\n\n` }));
    await page.goto(`/#/t/${THREADS.small}`);
    for (const [code, message, detail] of ends) {
      const trouble = page.locator(`.trouble[data-code="${code}"]`);
      await expect(trouble.locator(".problem-what")).toHaveText(CHINESE);
      await expect(trouble.locator(".problem-what")).not.toContainText(message);
      await expect(trouble.locator(".problem-remedy")).toHaveText(CHINESE);
      if (detail === null) await expect(trouble.locator(".problem-detail")).toHaveCount(0);
      else await expect(trouble.locator(".problem-detail")).toContainText(detail);
    }
    await expect(page.locator('.trouble[data-code="max_iterations"]')).toContainText("50 次");
  });

  test("why a run failed is told by the kind of its error, with what the host names below", async ({ page }) => {
    const error = { kind: "check_failed", message: "the check `make test` exited with code 2", hint: "its output is in evidence/check-1.log" };
    const run = { id: "r-1", workspace: "/srv/x", mode: "execute", goal: "x", agent: "native", started_at: "2026-11-15T08:00:00Z", state: "finished", outcome: "failure", exit_code: 1, gate: null, artifacts: [] };
    await page.route("**/api/runs/r-1", (route) => route.fulfill({ contentType: "application/json", body: JSON.stringify({ ...run, manifest: { error } }) }));
    await page.route("**/api/runs/r-1/events**", (route) => route.fulfill({ contentType: "text/event-stream", body: "event: done\ndata: {}\n\n" }));
    await page.goto("/#/runs/r-1");
    await expect(page.locator(".problem-what")).toHaveText("有检查未通过。");
    await expect(page.locator(".problem-detail")).toHaveText("the check make test exited with code 2; its output is in evidence/check-1.log");
  });

  test("why a call was refused, and what was done to the copy", async ({ page }) => {
    await page.goto("/");
    await page.getByTestId("mode-toggle").getByText("思考").click();
    await say(page, SAY.plan);
    const card = page.locator('.tool[data-state="denied"]');
    await expect(card.locator(".facts")).toContainText("此模式只读取");
    await expect(card.locator(".facts")).not.toContainText("only reads");
    await expect(page.getByTestId("announcer")).toHaveText("已停止：当前为思考模式，请切换到 build 模式执行操作");
    await page.goto("/#/");
    await expect(page.locator(".welcome")).toBeVisible();
    await page.getByTestId("mode-toggle").getByText("构建").click();
    await say(page, SAY.build);
    await over(page);
    const changes = page.locator("[data-part=changes]");
    await changes.getByRole("button", { name: "撤销" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "撤销" }).click();
    await expect(page.locator('.note[data-tone="undone"]')).toHaveText("已撤销：第 1 轮");
  });
});
