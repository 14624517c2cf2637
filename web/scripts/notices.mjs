// The licences of everything that is bundled, as they ask for: dist/notices.txt.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const web = new URL("..", import.meta.url).pathname;
const { packages } = JSON.parse(readFileSync(join(web, "package-lock.json"), "utf8"));
const texts = [];
for (const [path, entry] of Object.entries(packages).sort(([a], [b]) => (a < b ? -1 : 1))) {
  const folder = join(web, path);
  // Types vanish in the build; what is for other machines was never installed.
  if (path === "" || entry.dev || path.includes("node_modules/@types/") || !existsSync(folder)) continue;
  const file = readdirSync(folder).sort().find((name) => /^licen[cs]e/i.test(name));
  const words = file ? readFileSync(join(folder, file), "utf8").trim() : `Licence: ${entry.license}`;
  texts.push(`${path.replace(/^.*node_modules\//, "")} ${entry.version} (${entry.license})\n\n${words}\n`);
}
writeFileSync(join(web, "dist/notices.txt"), texts.join(`\n${"-".repeat(78)}\n\n`));
