// A stand-in for `holon serve`, for work on the page and its tests: the same interface, no agent behind it.
// node dev/server.mjs [--port N] [--dist FOLDER] [--late MS]; prints the address on its first line.
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { extname, join, normalize } from "node:path";
import { audit, evidence, info, modes, orchestrated, runFile, runs } from "./fixtures.mjs";
import { Threads } from "./threads.mjs";

const option = (name, otherwise) => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? otherwise : process.argv[at + 1];
};
const dist = option("dist", new URL("../dist", import.meta.url).pathname);
// Answers come up to so much later, each by another time, as from a busy machine.
const late = Number(option("late", "0"));
let answered = 0;
const threads = new Threads();
const gates = new Map();

const CSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };

const problem = (response, status, code, message, more = {}) => send(response, status, { code, message, ...more }, "application/problem+json");

function send(response, status, body, type = "application/json") {
  response.writeHead(status, { "content-type": type, "x-content-type-options": "nosniff" });
  response.end(body === null ? undefined : typeof body === "string" ? body : JSON.stringify(body));
}

function page(response, path) {
  const wanted = normalize(path === "/" ? "/index.html" : path);
  try {
    const bytes = readFileSync(join(dist, wanted));
    response.writeHead(200, { "content-type": TYPES[extname(wanted)] ?? "application/octet-stream", "content-security-policy": CSP, "x-content-type-options": "nosniff" });
    response.end(bytes);
  } catch {
    problem(response, 404, "not_found", `nothing at ${path}`);
  }
}

async function body(request) {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  return Buffer.concat(pieces);
}

const routes = [
  ["GET", /^\/api\/info$/, (_, response) => send(response, 200, info)],
  ["GET", /^\/api\/threads$/, (_, response, __, query) => send(response, 200, threads.page(Number(query.get("limit") ?? 50), query.get("before"), query.get("archived") === "true", query.has("pinned") ? query.get("pinned") === "true" : null))],
  ["GET", /^\/api\/search$/, (_, response, __, query) => send(response, 200, threads.search(query.get("q") ?? ""))],
  ["PATCH", /^\/api\/threads\/([^/]+)$/, async (request, response, [thread]) => {
    Object.assign(thread, JSON.parse(await body(request)));
    send(response, 200, thread.describe());
  }],
  ["GET", /^\/api\/threads\/([^/]+)\/branches$/, (_, response, [thread]) => send(response, 200, { threads: threads.familyOf(thread).map((one) => one.describe()) })],
  ["POST", /^\/api\/threads\/([^/]+)\/branches$/, async (request, response, [thread]) => {
    if (thread.state === "running") return problem(response, 409, "turn_running", "a turn is under way in this thread");
    send(response, 201, threads.branch(thread, JSON.parse(await body(request)).turn).describe());
  }],
  ["GET", /^\/api\/threads\/([^/]+)\/export$/, (_, response, [thread], query) => send(response, 200, query.get("format") === "json" ? JSON.stringify(thread.describe()) : `# ${thread.title}\n`, "text/markdown")],
  ["GET", /^\/api\/threads\/([^/]+)\/turns\/(\d+)\/calls\/([^/]+)\/output$/, (_, response, [thread, turn, call], query) => {
    const whole = thread.outputs.get(`${turn}/${call}`);
    if (whole === undefined) return problem(response, 404, "not_found", "there is no such output");
    const from = Number(query.get("from") ?? 0);
    const text = whole.slice(from, from + Number(query.get("bytes") ?? 65536));
    send(response, 200, { from, next: from + text.length, kept: whole.length, text });
  }],
  ["POST", /^\/api\/threads$/, async (request, response) => {
    const { workspace } = JSON.parse(await body(request));
    if (!workspace?.startsWith("/srv/")) return problem(response, 403, "forbidden", `${workspace} is not below an allowed folder`);
    send(response, 201, threads.make(workspace).describe());
  }],
  ["GET", /^\/api\/threads\/([^/]+)$/, (_, response, [thread], query) => {
    const since = Number(query.get("since") ?? 1);
    send(response, 200, { ...thread.describe(), turns: thread.turns.filter((turn) => turn.number >= since) });
  }],
  ["DELETE", /^\/api\/threads\/([^/]+)$/, (_, response, [thread]) => {
    threads.all.delete(thread.id);
    send(response, 204, null);
  }],
  ["POST", /^\/api\/chat\/([^/]+)$/, async (request, response, [thread]) => {
    const said = JSON.parse(await body(request));
    if (said.mode && !["plan", "build"].includes(said.mode)) return problem(response, 422, "invalid_mode", "unknown mode", { modes: ["plan", "build"] });
    if (thread.state === "running") return problem(response, 409, "turn_running", "something is under way in this thread already");
    thread.language = request.headers["accept-language"]?.startsWith("en") ? "en" : "zh";
    const after = thread.events.length;
    thread.say(said);
    thread.stream(response, after);
  }],
  ["POST", /^\/api\/chat\/([^/]+)\/resume$/, async (request, response, [thread]) => {
    const given = JSON.parse(await body(request));
    if (thread.interrupt?.id !== given.interrupt_id) return problem(response, 409, "not_waiting", "nothing waits for that answer");
    const after = thread.events.length;
    thread.resume(given);
    thread.stream(response, after);
  }],
  ["POST", /^\/api\/chat\/([^/]+)\/cancel$/, (_, response, [thread]) => send(response, 202, { cancelled: thread.cancel() })],
  ["GET", /^\/api\/chat\/([^/]+)\/events$/, (request, response, [thread], query) => thread.stream(response, Number(query.get("after") ?? request.headers["last-event-id"] ?? 0))],
  ["GET", /^\/api\/threads\/([^/]+)\/diff$/, (_, response, [thread]) => send(response, 200, thread.diff())],
  ["POST", /^\/api\/threads\/([^/]+)\/apply$/, (_, response, [thread]) => send(response, 200, thread.apply())],
  ["POST", /^\/api\/threads\/([^/]+)\/undo$/, (_, response, [thread]) => {
    const undone = thread.undo();
    if (undone.length === 0) return problem(response, 409, "nothing_to_undo", "no turn is left");
    send(response, 200, { turns: undone });
  }],
  ["PUT", /^\/api\/threads\/([^/]+)\/tools$/, async (request, response, [thread]) => {
    thread.tools = JSON.parse(await body(request)).tools;
    send(response, 200, { tools: thread.tools });
  }],
  ["POST", /^\/api\/threads\/([^/]+)\/takeover$/, (_, response) => send(response, 202, { asked: true })],
  ["POST", /^\/api\/files$/, async (request, response, _, query) => {
    const bytes = await body(request);
    send(response, 201, { id: `f-${Math.random().toString(36).slice(2)}`, name: query.get("name"), bytes: bytes.length, sha256: "0".repeat(64) });
  }],
  ["GET", /^\/api\/runs$/, (_, response) => send(response, 200, { runs: runs.map((run) => ({ ...run, ...gates.get(run.id) })) })],
  ["POST", /^\/api\/runs$/, (_, response) => send(response, 202, { id: runs[0].id })],
  ["GET", /^\/api\/runs\/([^/]+)$/, (_, response, [id]) => {
    const run = runs.find((one) => one.id === id);
    if (!run) return problem(response, 404, "not_found", "no such run");
    send(response, 200, { ...run, ...gates.get(id) });
  }],
  ["GET", /^\/api\/runs\/([^/]+)\/events$/, (_, response, [id]) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const whole = orchestrated(id);
    if (whole) {
      whole.forEach((event, at) => response.write(`id: ${at + 1}\nevent: run\ndata: ${JSON.stringify({ seq: at + 1, at: "2026-11-15T08:01:02Z", run: id, ...event })}\n\n`));
      if (whole.at(-1).type === "run_finished") response.end("event: done\ndata: {}\n\n");
      return;
    }
    const kinds = ["run_started", "phase_started", "tool_proposed", "tool_decided", "check_ran", "artifact_accepted", "run_finished"];
    kinds.forEach((type, at) => response.write(`id: ${at + 1}\nevent: run\ndata: ${JSON.stringify({ seq: at + 1, at: "2026-11-15T08:01:02Z", run: id, type, path: "diff.patch" })}\n\n`));
    response.end("event: done\ndata: {}\n\n");
  }],
  ["GET", /^\/api\/runs\/([^/]+)\/files\/(.+)$/, (_, response, [id, path]) => {
    const text = runFile(id, decodeURIComponent(path));
    return text === undefined ? problem(response, 404, "not_found", "no such file") : send(response, 200, text, "text/plain; charset=utf-8");
  }],
  ["GET", /^\/api\/runs\/([^/]+)\/evidence\/(.+)$/, (_, response, [id, path]) => {
    const found = evidence(id, path);
    return found === undefined ? problem(response, 404, "not_found", "there is no such file") : send(response, 200, found);
  }],
  ["POST", /^\/api\/runs\/([^/]+)\/gate$/, async (request, response, [id]) => {
    const { decision } = JSON.parse(await body(request));
    gates.set(id, { state: "finished", gate: null, outcome: decision === "approve" ? "success" : "needs_human", exit_code: decision === "approve" ? 0 : 2 });
    send(response, 202, {});
  }],
  ["POST", /^\/api\/runs\/([^/]+)\/tasks\/([^/]+)$/, async (request, response, [id, task]) => {
    const { word, text } = JSON.parse(await body(request));
    const going = runs.find((run) => run.id === id)?.state === "running";
    if (word === "skip" && task === "ethical") return problem(response, 409, "not_taken", "nothing goes out without an assessment; end the whole instead");
    send(response, 200, { heard: going, kept: !going, says: text ?? word });
  }],
  ["POST", /^\/api\/runs\/([^/]+)\/cancel$/, (_, response, [id]) => {
    gates.set(id, { state: "finished", gate: null, outcome: "failure", exit_code: 1 });
    send(response, 202, {});
  }],
  ["GET", /^\/api\/modes$/, (_, response) => send(response, 200, { modes })],
  ["GET", /^\/api\/audit$/, (_, response, __, query) => send(response, 200, audit(query))],
  ["GET", /^\/api\/audit\/verify$/, (_, response) => send(response, 200, { ok: true, length: 24, head: "9f2c".repeat(16) })],
];

async function answer(request, response) {
  const url = new URL(request.url, "http://127.0.0.1");
  if (late > 0) await new Promise((resolve) => setTimeout(resolve, (answered++ * 7919) % late));
  if (!url.pathname.startsWith("/api/")) return page(response, url.pathname);
  for (const [method, pattern, act] of routes) {
    const match = pattern.exec(url.pathname);
    if (!match || method !== request.method) continue;
    const parts = match.slice(1).map(decodeURIComponent);
    if (/^\/api\/(threads|chat)\//.test(url.pathname)) {
      const thread = threads.all.get(parts[0]);
      if (!thread) return problem(response, 404, "not_found", "there is no such thread");
      parts[0] = thread;
    }
    return act(request, response, parts, url.searchParams);
  }
  problem(response, 404, "not_found", `nothing at ${url.pathname}`);
}

const server = createServer((request, response) => {
  answer(request, response).catch((error) => {
    // Whoever asked may be gone before all of it was said; that is no end of the others.
    if (!request.aborted && !response.headersSent) problem(response, 400, "bad_request", String(error));
  });
});
server.listen(Number(option("port", "4681")), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));
