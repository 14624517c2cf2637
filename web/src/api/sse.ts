/** Server-sent events out of a body that arrives in pieces of any size. */

export interface SseMessage {
  id: string | null;
  event: string;
  data: string;
}

/** Feed it text; it calls back once for each complete message. Comments and messages without data are dropped, as the standard says. */
export class SseParser {
  private rest = "";
  private id: string | null = null;
  private event = "";
  private data: string[] = [];
  private first = true;

  constructor(private readonly emit: (message: SseMessage) => void) {}

  push(text: string): void {
    let buffer = this.rest + text;
    if (this.first && buffer.length > 0) {
      buffer = buffer.replace(/^\uFEFF/, "");
      this.first = false;
    }
    let start = 0;
    for (;;) {
      const end = lineEnd(buffer, start);
      if (end === null) break;
      this.line(buffer.slice(start, end.at));
      start = end.next;
    }
    this.rest = buffer.slice(start);
  }

  private line(line: string): void {
    if (line === "") return this.dispatch();
    if (line.startsWith(":")) return;
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") this.data.push(value);
    else if (field === "event") this.event = value;
    else if (field === "id" && !value.includes("\0")) this.id = value;
  }

  private dispatch(): void {
    const { id, event, data } = this;
    this.id = null;
    this.event = "";
    this.data = [];
    if (data.length > 0) this.emit({ id, event: event || "message", data: data.join("\n") });
  }
}

function lineEnd(text: string, from: number): { at: number; next: number } | null {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 10) return { at, next: at + 1 };
    if (code !== 13) continue;
    // A lone CR at the end may be half of a CRLF: wait for what follows.
    if (at + 1 === text.length) return null;
    return { at, next: text.charCodeAt(at + 1) === 10 ? at + 2 : at + 1 };
  }
  return null;
}
