// One digest over everything the built page depends on. `--write` stores it beside the build, `--check` compares.
// A list of `sha256  path` lines in byte order; the digest is the sha256 of that list. Any language can redo it.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const web = new URL("..", import.meta.url).pathname;
const FOLDERS = ["src", "public"];
const FILES = ["index.html", "package-lock.json", "package.json", "tsconfig.json", "vite.config.ts"];
const STORED = join(web, "dist/sources.sha256");

function below(folder) {
  return readdirSync(join(web, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory() ? below(path) : [path];
  });
}

const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");
const paths = [...FOLDERS.flatMap(below), ...FILES].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
const list = paths.map((path) => `${sha256(readFileSync(join(web, path)))}  ${path}\n`).join("");
const digest = `${sha256(list)}\n`;

if (process.argv.includes("--write")) {
  writeFileSync(STORED, digest);
} else if (readFileSync(STORED, "utf8") !== digest) {
  console.error("web/dist is older than web/src: run `npm ci && npm run build` in web/");
  process.exit(1);
}
