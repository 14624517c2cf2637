import { describe, expect, it } from "vitest";
import { highlight, highlightLines, languageOf } from "../../src/ui/highlight";

const toned = (text: string, name: string) => highlight(text, languageOf(name)).filter((piece) => piece.tone !== null).map((piece) => `${piece.tone}:${piece.text}`);

describe("colours", () => {
  it("knows a language by its name and by a file's", () => {
    expect([languageOf("rust"), languageOf("src/a/main.rs"), languageOf("Dockerfile"), languageOf("x.patch"), languageOf("LICENSE"), languageOf("")]).toEqual(["rust", "rust", "shell", "diff", null, null]);
  });

  it("tells comments, strings, numbers and words apart", () => {
    expect(toned("fn x(a: u8) { // it's\n  y(\"a \\\" b\", 0x1f) /* 1\n2 */ }", "rs")).toEqual(["keyword:fn", "name:x", "keyword:u8", "comment:// it's", "name:y", 'string:"a \\" b"', "number:0x1f", "comment:/* 1\n2 */"]);
    expect(toned("don't # yes\nx = '''a\nb''' + \"c\"", "py")).toEqual(["comment:# yes", "string:'''a\nb'''", 'string:"c"']);
    expect(toned("const u = `http://x\n${1}`", "ts")).toEqual(["keyword:const", "string:`http://x\n${1}`"]);
    expect(toned("select 1 from t -- all", "sql")).toEqual(["keyword:select", "number:1", "keyword:from", "comment:-- all"]);
    expect(toned("@@ -1 +1 @@\n-a\n+b\n c\n", "diff")).toEqual(["meta:@@ -1 +1 @@\n", "minus:-a\n", "plus:+b\n"]);
  });

  it("loses nothing, whatever it reads", () => {
    for (const text of ["", "\"open", "/* open", "a'b'c\"", "#", "''' x", "\\", "😀 let x", "é1 = `"]) {
      for (const name of ["rs", "py", "ts", "sh", "sql", "css", "json", "yaml", "go", "c", "rb", "diff", "txt"]) {
        expect(highlight(text, languageOf(name)).map((piece) => piece.text).join("")).toBe(text);
        expect(highlightLines(text, languageOf(name)).map((line) => line.map((piece) => piece.text).join("")).join("\n")).toBe(text);
      }
    }
  });
});
