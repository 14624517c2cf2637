import { expect, input, over, SAY, say, test } from "./stage";

const mode = (page: import("@playwright/test").Page) => page.evaluate(() => localStorage.getItem("agent_mode"));

test("the mode is build at first, switches by Shift+Tab, and persists over a reload", async ({ page }) => {
  await page.goto("/");
  await expect(page.getByRole("radio", { name: "Build" })).toBeChecked();
  await input(page).focus();
  await page.keyboard.press("Shift+Tab");
  await expect(page.getByRole("radio", { name: "Plan" })).toBeChecked();
  await expect.poll(() => mode(page)).toBe("plan");
  await expect(input(page)).toBeFocused();
  await page.reload();
  await expect(page.getByRole("radio", { name: "Plan" })).toBeChecked();
  await page.getByTestId("mode-toggle").getByText("Build").click();
  await expect(page.getByRole("radio", { name: "Build" })).toBeChecked();
  await expect.poll(() => mode(page)).toBe("build");
});

test("Escape gives Shift+Tab back to the focus, so that no one is trapped", async ({ page }) => {
  await page.goto("/");
  await input(page).focus();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Shift+Tab");
  await expect(input(page)).not.toBeFocused();
  await expect(page.getByRole("radio", { name: "Build" })).toBeChecked();
});

test("another tab follows the mode", async ({ page, context }) => {
  await page.goto("/");
  await expect(page.getByRole("radio", { name: "Build" })).toBeChecked();
  const other = await context.newPage();
  await other.goto("/");
  await other.getByTestId("mode-toggle").getByText("Plan").click();
  await expect(page.getByRole("radio", { name: "Plan" })).toBeChecked();
});

test("plan refuses a command, says how to go on, and changes nothing", async ({ page }) => {
  await page.goto("/");
  await input(page).focus();
  await page.keyboard.press("Shift+Tab");
  await say(page, SAY.plan);
  const trouble = page.locator(".trouble[data-code=plan_mode]");
  await expect(trouble).toBeVisible();
  await expect(trouble).toContainText(/plan mode/i);
  await expect(page.locator('.tool[data-state="denied"]')).toHaveCount(1);
  await expect(page.locator('.tool[data-state="ok"][data-tool="execute"]')).toHaveCount(0);
  await over(page);
  await expect(page.locator("[data-part=changes]")).toContainText("No changes");
  await trouble.getByRole("button").click();
  await expect(page.getByRole("radio", { name: "Build" })).toBeChecked();
});

test.describe("in Chinese", () => {
  test.use({ locale: "zh-CN" });
  test("the toggle and the refusal are the agreed words", async ({ page }) => {
    await page.goto("/");
    await expect(page.getByTestId("mode-toggle")).toHaveText("模式🧠 思考🔨 构建");
    await page.getByTestId("mode-toggle").getByText("思考").click();
    await say(page, SAY.plan);
    await expect(page.locator(".trouble")).toContainText("当前为思考模式，请切换到 build 模式执行操作");
  });
});
