// Pictures of every part of the page, to be looked at: node dev/shots.mjs URL FOLDER
import { chromium } from "@playwright/test";
import { mkdirSync } from "node:fs";

const [base, folder] = process.argv.slice(2);
const token = process.env.HOLON_PAGE_TOKEN;
mkdirSync(folder, { recursive: true });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });

async function visit(name, { scheme = "light", locale = "en-US", width = 1440, height = 900 }, act) {
  const context = await browser.newContext({ colorScheme: scheme, locale, viewport: { width, height }, deviceScaleFactor: 1, extraHTTPHeaders: token ? { Authorization: `Bearer ${token}` } : {} });
  const page = await context.newPage();
  page.on("console", (message) => message.type() === "error" && console.log(`${name}: ${message.text()}`));
  page.on("pageerror", (error) => console.log(`${name}: ${error}`));
  const shot = (part) => page.screenshot({ path: `${folder}/${name}-${part}.png` });
  try {
    await act(page, shot);
  } catch (error) {
    console.log(`${name}: ${String(error).slice(0, 300)}`);
    await shot("broken");
  }
  await context.close();
}

const send = async (page, text) => {
  await page.locator(".composer textarea").fill(text);
  await page.locator(".send:enabled").waitFor({ timeout: 20000 });
  await page.keyboard.press("Enter");
};
const idle = (page) => page.locator(".send").waitFor({ timeout: 20000 });

async function tour(page, shot) {
  await page.goto(base);
  await page.locator(".welcome").waitFor();
  await page.waitForTimeout(300);
  await shot("welcome");
  await send(page, "Make the greeting loud and test it");
  await page.locator('[data-tool="execute"]').first().waitFor({ timeout: 20000 });
  await page.waitForTimeout(300);
  await shot("working");
  await page.waitForTimeout(500);
  await idle(page);
  await page.waitForTimeout(700);
  await page.locator('[data-tool="execute"] .tool-head').first().click();
  await page.waitForTimeout(200);
  await shot("done");
}

async function rest(page, shot) {
  if (page.viewportSize().width < 1180) await page.getByRole("button", { name: /Details|详情/ }).click();
  await page.waitForTimeout(700);
  await shot("panel");
  await page.locator(".file").first().click();
  await page.locator(".patch").waitFor();
  await shot("diff");
  await page.keyboard.press("Escape");
  if (page.viewportSize().width < 1180) await page.locator(".panel-head button").click();
  await send(page, "ask me first");
  await page.getByTestId("asked").waitFor();
  await page.waitForTimeout(300);
  await shot("ask");
  await page.locator(".option").first().click();
  await page.locator(".asked textarea").fill("no");
  await page.locator(".asked .primary").click();
  await page.locator(".asked-closed").waitFor();
  await idle(page);
  await page.waitForTimeout(300);
  await page.locator(".composer textarea").focus();
  await page.keyboard.press("Shift+Tab");
  await send(page, "run ls");
  await page.locator(".trouble").waitFor();
  await page.waitForTimeout(400);
  await shot("refused");
  await page.evaluate(() => localStorage.setItem("agent_mode", "build"));
  await page.goto(`${base}#/`);
  await page.reload();
  await page.locator(".welcome").waitFor();
  await send(page, "Fix the broken build in greet.sh");
  await page.locator(".stop").waitFor({ timeout: 5000 }).catch(() => undefined);
  await idle(page);
  if (page.viewportSize().width < 1180) await page.getByRole("button", { name: /Details|详情/ }).click();
  await page.waitForTimeout(900);
  await shot("supervised");
  for (const path of ["runs", "audit", "modes"]) {
    await page.goto(`${base}#/${path}`);
    await page.waitForTimeout(500);
    await shot(path);
  }
  await page.goto(`${base}#/runs`);
  for (const [at, name] of [[0, "gate"], [1, "review"], [2, "run"], [3, "failed"]]) {
    await page.locator(".card").first().waitFor({ timeout: 3000 }).catch(() => undefined);
    const card = page.locator(".card a").nth(at);
    if (!(await card.count())) continue;
    await card.click();
    await page.waitForTimeout(600);
    await shot(name);
    await page.goto(`${base}#/runs`);
  }
}

const whole = async (page, shot) => {
  await tour(page, shot);
  await rest(page, shot);
};
await visit("light-en", {}, whole);
await visit("dark-zh", { scheme: "dark", locale: "zh-CN" }, whole);
await visit("phone-en", { width: 390, height: 844 }, whole);
await visit("phone-dark-zh", { width: 390, height: 844, scheme: "dark", locale: "zh-CN" }, tour);
await browser.close();
