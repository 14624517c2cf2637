import { defineConfig } from "@playwright/test";

/** The server under test: given by HOLON_PAGE_URL, else the stand-in in dev/. */
export default defineConfig({
  testDir: "tests/browser",
  fullyParallel: false,
  workers: 1,
  timeout: 60_000,
  // A busy machine is no defect; everything waited for is a state that stays.
  expect: { timeout: 15_000 },
  reporter: process.env.CI ? "dot" : "list",
  outputDir: process.env.HOLON_PAGE_RESULTS ?? "test-results",
  use: {
    browserName: "chromium",
    headless: true,
    viewport: { width: 1360, height: 860 },
    locale: "en-US",
    // A real server asks for its token with everything.
    extraHTTPHeaders: process.env.HOLON_PAGE_TOKEN ? { Authorization: `Bearer ${process.env.HOLON_PAGE_TOKEN}` } : {},
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--disable-sync"],
    },
  },
});
