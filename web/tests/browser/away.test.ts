/** The server is gone, has changed, or does not know us: the page says so and stays. */

import { admit, expect, test } from "./stage";

test("a part that cannot be fetched says so, leaves the rest as it was, and comes when it can", async ({ page, stage }) => {
  stage.expected.push("net::ERR", "Failed to load resource", "dynamically imported module");
  await page.goto("/");
  await expect(page.locator(".welcome")).toBeVisible();
  await page.route("**/assets/**", (route) => route.abort());
  await page.getByRole("link", { name: "Runs", exact: true }).click();
  await expect(page.locator(".problem")).toContainText("could not be loaded");
  await expect(page.locator(".sidebar")).toBeVisible();
  await page.unroute("**/assets/**");
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Runs" })).toBeVisible();
});

test("what the page cannot show does not empty it", async ({ page, stage }) => {
  stage.expected.push("TypeError", "The above error");
  await page.route("**/api/modes", (route) => route.fulfill({ contentType: "application/json", body: JSON.stringify({ modes: [{ name: "odd" }] }) }));
  await page.goto("/#/modes");
  await expect(page.locator(".problem")).toContainText("stopped working");
  await page.getByRole("link", { name: "New thread" }).click();
  await expect(page.locator(".welcome")).toBeVisible();
});

test.describe("a page that was given no token", () => {
  test.use({ extraHTTPHeaders: {} });

  test("a wrong token is told apart from none", async ({ page, stage }) => {
    stage.expected.push("401");
    await page.route("**/api/**", (route) =>
      route.request().headers().authorization === "Bearer right"
        ? admit(route)
        : route.fulfill({ status: 401, contentType: "application/problem+json", body: JSON.stringify({ code: "unauthorized", message: "a token is needed" }) }),
    );
    await page.goto("/");
    const token = page.getByLabel("Token");
    await expect(token).toBeFocused();
    await expect(page.getByRole("alert")).toHaveCount(0);
    await token.fill("wrong");
    await token.press("Enter");
    await expect(page.getByRole("alert")).toContainText("does not know this token");
    await token.fill("right");
    await token.press("Enter");
    await expect(page.locator(".welcome")).toBeVisible();
  });
});

test("a run is followed again however long the server was away, and its page says so meanwhile", async ({ page, stage }) => {
  stage.expected.push("net::ERR", "Failed to load resource");
  const run = { id: "r-1", workspace: "/srv/x", mode: "execute", goal: "Wait", agent: "native", started_at: "2026-11-15T08:00:00Z", state: "running", outcome: null, exit_code: null, gate: null, manifest: null, artifacts: [] };
  const attempts: number[] = [];
  let back = false;
  await page.route("**/api/runs/r-1", (route) => route.fulfill({ contentType: "application/json", body: JSON.stringify(run) }));
  await page.route("**/api/runs/r-1/events**", (route) => {
    attempts.push(1);
    if (!back) return route.abort();
    const event = { seq: 1, at: "2026-11-15T08:00:01Z", type: "check_ran", command: "make test" };
    return route.fulfill({ contentType: "text/event-stream", body: `id: 1\nevent: run\ndata: ${JSON.stringify(event)}\n\nevent: done\ndata: {}\n\n` });
  });
  await page.clock.install();
  await page.goto("/#/runs/r-1");
  await expect(page.locator(".link-lost")).toBeVisible();
  const later = async () => {
    await page.clock.runFor(8000);
    return attempts.length;
  };
  await expect.poll(later, { timeout: 20_000 }).toBeGreaterThanOrEqual(9);
  back = true;
  await expect.poll(async () => (await later()) && page.locator(".timeline").count(), { timeout: 20_000 }).toBe(1);
  await expect(page.locator(".timeline")).toContainText("make test");
  await expect(page.locator(".link-lost")).toHaveCount(0);
});

for (const [name, broken] of [
  ["forbidden", () => Object.defineProperty(globalThis, "localStorage", { get: () => { throw new DOMException("no", "SecurityError"); } })],
  ["full", () => { Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError"); }; }],
] as const) {
  test(`a browser whose storage is ${name} forgets, and works`, async ({ page }) => {
    await page.addInitScript(broken);
    await page.goto("/");
    await page.getByTestId("mode-toggle").getByText("Plan").click();
    await expect(page.getByRole("radio", { name: "Plan" })).toBeChecked();
    await page.getByLabel("Appearance").selectOption("dark");
    await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
    await page.getByLabel("Language").selectOption("zh");
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("要做些什么？");
  });
}
