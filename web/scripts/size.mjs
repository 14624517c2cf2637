// What the first visit loads, compressed: the entry, what it imports at once, and the styles. Fails above the limit.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const dist = new URL("../dist", import.meta.url).pathname;
const LIMIT = 200 * 1024;
const html = readFileSync(join(dist, "index.html"), "utf8");
const first = new Set(["index.html", ...[...html.matchAll(/(?:src|href)="\/([^"]+)"/g)].map((match) => match[1])]);
let total = 0;
for (const name of [...first, ...readdirSync(join(dist, "assets")).map((file) => `assets/${file}`)].filter((n, i, all) => all.indexOf(n) === i)) {
  const size = gzipSync(readFileSync(join(dist, name)), { level: 9 }).length;
  if (first.has(name)) total += size;
  console.log(`${String(size).padStart(8)}  ${first.has(name) ? "first" : "later"}  ${name}`);
}
console.log(`${String(total).padStart(8)}  first load, of ${LIMIT}`);
if (total > LIMIT) process.exit(1);
