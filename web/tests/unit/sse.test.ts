import { describe, expect, it } from "vitest";
import { SseParser, type SseMessage } from "../../src/api/sse";

function parse(pieces: string[]): SseMessage[] {
  const seen: SseMessage[] = [];
  const parser = new SseParser((message) => seen.push(message));
  for (const piece of pieces) parser.push(piece);
  return seen;
}

const message = (data: string, event = "message", id: string | null = null): SseMessage => ({ id, event, data });

describe("server-sent events", () => {
  const cases: [string, string, SseMessage[]][] = [
    ["a plain one", "data: a\n\n", [message("a")]],
    ["all fields", "id: 7\nevent: tool_end\ndata: {}\n\n", [message("{}", "tool_end", "7")]],
    ["several lines of data", "data: a\ndata: b\n\n", [message("a\nb")]],
    ["comments are nothing", ": ping\n\ndata: a\n\n: ping\n\n", [message("a")]],
    ["no space after the colon", "data:a\n\n", [message("a")]],
    ["only one space is taken", "data:  a\n\n", [message(" a")]],
    ["CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", [message("a"), message("b")]],
    ["CR alone", "data: a\r\rdata: b\r\r\n", [message("a"), message("b")]],
    ["a byte order mark", "\uFEFFdata: a\n\n", [message("a")]],
    ["nothing without data", "event: x\nid: 3\n\n", []],
    ["an unfinished one is not told", "data: a\n", []],
    ["unknown fields", "retry: 5\nfoo\ndata: a\n\n", [message("a")]],
    ["the id does not stick", "id: 1\ndata: a\n\ndata: b\n\n", [message("a", "message", "1"), message("b")]],
  ];
  it.each(cases)("%s", (_, text, expected) => {
    expect(parse([text])).toEqual(expected);
    // However it is cut, the result is the same.
    expect(parse([...text])).toEqual(expected);
    for (let at = 0; at <= text.length; at++) expect(parse([text.slice(0, at), text.slice(at)])).toEqual(expected);
  });
});
