/** Requests to the server that served the page, and to nobody else. */

import type * as C from "./contract";

/** An answer that is not a success, or no answer at all (`code` "offline"). */
export class Failure extends Error {
  constructor(
    readonly status: number,
    readonly problem: C.Problem,
    readonly retryAfter: number | null = null,
  ) {
    super(problem.message);
    this.name = "Failure";
  }

  get code(): string {
    return this.problem.code;
  }

  get offline(): boolean {
    return this.status === 0;
  }
}

const TOKEN = "holon_token";
let language = "en";
let token: string | null = readToken();

function readToken(): string | null {
  try {
    return sessionStorage.getItem(TOKEN);
  } catch {
    return null;
  }
}

/** The language of texts the server makes. */
export function speak(tag: string): void {
  language = tag;
}

/** Keeps the token for this tab; it is sent as a header and never stored longer. */
export function signIn(value: string): void {
  token = value.trim() || null;
  try {
    if (token) sessionStorage.setItem(TOKEN, token);
    else sessionStorage.removeItem(TOKEN);
  } catch {
    // The token then lives as long as the page.
  }
}

/** A fetch with the language and the token; failures become `Failure`. */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set("Accept-Language", language === "zh" ? "zh-CN,zh" : "en");
  if (token) headers.set("Authorization", `Bearer ${token}`);
  let response: Response;
  try {
    response = await fetch(path, { ...init, headers, credentials: "same-origin", cache: "no-store", redirect: "error" });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new Failure(0, { code: "offline", message: String(error) });
  }
  if (!response.ok) throw await failure(response);
  return response;
}

async function failure(response: Response): Promise<Failure> {
  const after = Number(response.headers.get("Retry-After"));
  const text = await response.text().catch(() => "");
  let problem: C.Problem = { code: `http_${response.status}`, message: text.slice(0, 300) || response.statusText };
  try {
    const parsed = JSON.parse(text) as Partial<C.Problem>;
    if (typeof parsed.code === "string" && typeof parsed.message === "string") problem = parsed as C.Problem;
  } catch {
    // Not the server's own words: the status says enough.
  }
  return new Failure(response.status, problem, after > 0 ? after : null);
}

async function json<T>(path: string, init?: RequestInit): Promise<T> {
  return (await (await request(path, init)).json()) as T;
}

export function asJson(method: string, body: unknown): RequestInit {
  return { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
}

const id = encodeURIComponent;

/** Ends this browser's session and forgets the token; the page begins anew, and asks for one. */
export async function signOut(): Promise<void> {
  try {
    await request("/api/session", { method: "DELETE" });
  } finally {
    signIn("");
    location.reload();
  }
}

export const api = {
  info: () => json<C.Info>("/api/info"),
  threads: (limit: number, before?: string, archived = false, pinned = false) =>
    json<{ threads: C.Thread[]; next: string | null }>(`/api/threads?limit=${limit}&archived=${archived}${archived ? "" : `&pinned=${pinned}`}${before ? `&before=${id(before)}` : ""}`),
  changeThread: (thread: string, change: { title?: string; pinned?: boolean; archived?: boolean }) => json<C.Thread>(`/api/threads/${id(thread)}`, asJson("PATCH", change)),
  branches: (thread: string) => json<{ threads: C.Thread[] }>(`/api/threads/${id(thread)}/branches`),
  branch: (thread: string, turn: number) => json<C.Thread>(`/api/threads/${id(thread)}/branches`, asJson("POST", { turn })),
  search: (words: string) => json<{ places: C.FoundPlace[]; more: boolean }>(`/api/search?q=${id(words)}`),
  exportThread: async (thread: string, format: "markdown" | "json") => (await request(`/api/threads/${id(thread)}/export?format=${format}`)).blob(),
  /** With the turns from a number on; all of them unless told. */
  thread: (thread: string, since = 1) => json<C.Thread & { turns: C.Turn[] }>(`/api/threads/${id(thread)}?since=${since}`),
  newThread: (workspace: string) => json<C.Thread>("/api/threads", asJson("POST", { workspace })),
  deleteThread: (thread: string) => request(`/api/threads/${id(thread)}`, { method: "DELETE" }),
  cancel: (thread: string) => json<{ cancelled: boolean }>(`/api/chat/${id(thread)}/cancel`, asJson("POST", {})),
  output: (thread: string, turn: number, call: string, from: number, bytes: number) =>
    json<C.OutputPart>(`/api/threads/${id(thread)}/turns/${turn}/calls/${id(call)}/output?from=${from}&bytes=${bytes}`),
  upload: (file: File) =>
    json<C.Upload>(`/api/files?name=${id(file.name)}`, {
      method: "POST",
      headers: { "Content-Type": "application/octet-stream" },
      body: file,
    }),
  diff: (thread: string) => json<C.Diff>(`/api/threads/${id(thread)}/diff`),
  apply: (thread: string, allow_sensitive: boolean) =>
    json<{ applied: boolean; files: string[] }>(`/api/threads/${id(thread)}/apply`, asJson("POST", { allow_sensitive })),
  undo: (thread: string, turn?: number) =>
    json<{ turns: number[] }>(`/api/threads/${id(thread)}/undo`, asJson("POST", turn === undefined ? {} : { turn })),
  tools: (thread: string, tools: Record<string, C.Word>) =>
    json<{ tools: Record<string, C.Word> }>(`/api/threads/${id(thread)}/tools`, asJson("PUT", { tools })),
  takeover: (thread: string) => json<{ asked: boolean }>(`/api/threads/${id(thread)}/takeover`, asJson("POST", {})),
  runs: () => json<{ runs: C.Run[] }>("/api/runs?limit=100"),
  run: (run: string) => json<C.RunDetail>(`/api/runs/${id(run)}`),
  runFile: async (run: string, path: string) => (await request(`/api/runs/${id(run)}/files/${id(path)}`)).text(),
  evidence: (run: string, path: string) => json<C.Evidence>(`/api/runs/${id(run)}/evidence/${id(path)}`),
  startRun: (body: { workspace: string; goal: string; mode?: string; gate?: string }) =>
    json<{ id: string }>("/api/runs", asJson("POST", body)),
  gate: (run: string, decision: "approve" | "reject", comment: string) =>
    request(`/api/runs/${id(run)}/gate`, asJson("POST", comment ? { decision, comment } : { decision })),
  stopRun: (run: string) => request(`/api/runs/${id(run)}/cancel`, asJson("POST", {})),
  tellTask: (run: string, task: string, word: string, text: string) =>
    json<{ kept: boolean }>(`/api/runs/${id(run)}/tasks/${id(task)}`, asJson("POST", text ? { word, text } : { word })),
  modes: () => json<{ modes: C.ModeInfo[] }>("/api/modes"),
  audit: (after: number, limit: number, thread: string) =>
    json<C.AuditPage>(`/api/audit?after=${after}&limit=${limit}${thread ? `&thread=${id(thread)}` : ""}`),
  verifyAudit: () => json<C.AuditVerdict>("/api/audit/verify"),
};
