import { describe, expect, it } from "vitest";
import { parsePatch } from "../../src/conversation/patch";
import { visible } from "../../src/ui/visible";
import { apart } from "../../src/ui/apart";

describe("a patch", () => {
  it("sets removed beside added lines and counts both", () => {
    const [file] = parsePatch("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,4 @@ fn main\n a\n-b\n+B\n+C\n d\n");
    expect(file).toMatchObject({ path: "x", status: "modified", insertions: 2, deletions: 1 });
    expect(file?.rows.map((row) => [row.kind, row.left?.line ?? null, row.left?.text ?? null, row.right?.line ?? null, row.right?.text ?? null])).toEqual([
      ["hunk", null, null, null, null],
      ["same", 1, "a", 1, "a"],
      ["change", 2, "b", 2, "B"],
      ["change", null, null, 3, "C"],
      ["same", 3, "d", 4, "d"],
    ]);
  });

  it("does not take text for headers", () => {
    const files = parsePatch("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/y\n-diff --git a/z b/z\n+++ b/y\n+@@ -1 +1 @@\n");
    expect(files).toHaveLength(1);
    expect(files[0]).toMatchObject({ path: "x", insertions: 2, deletions: 2 });
  });

  const headers: [string, string, object][] = [
    ["added", "diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n", { path: "n", status: "added", insertions: 1 }],
    ["deleted", "diff --git a/n b/n\ndeleted file mode 100644\n--- a/n\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", { path: "n", status: "deleted", deletions: 1 }],
    ["renamed", "diff --git a/old b/new\nsimilarity index 100%\nrename from old\nrename to new\n", { path: "new", from: "old", status: "renamed", rows: [] }],
    ["binary", "diff --git a/p.png b/p.png\nGIT binary patch\nliteral 3\nKcmZQzU}\n\n", { path: "p.png", binary: true }],
    ["mode", "diff --git a/s b/s\nold mode 100644\nnew mode 100755\n", { path: "s", notes: ["100644 → 100755"] }],
    ["spaces", "diff --git a/a b c b/a b c\nold mode 100644\nnew mode 100755\n", { path: "a b c" }],
    ["octal", 'diff --git "a/\\346\\226\\207.txt" "b/\\346\\226\\207.txt"\n--- "a/\\346\\226\\207.txt"\n+++ "b/\\346\\226\\207.txt"\n@@ -1 +1 @@\n-a\n+b\n', { path: "文.txt" }],
    ["markup in a name", "diff --git a/<img> b/<img>\nold mode 100644\nnew mode 100755\n", { path: "<img>" }],
  ];
  it.each(headers)("%s", (_, text, expected) => {
    expect(parsePatch(text)[0]).toMatchObject(expected);
  });

  it("survives anything", () => {
    for (const text of ["", "\n", "diff --git ", "diff --git x", "diff --git a/x b/x\n@@ nonsense", "diff --git a/x b/x\n@@ -1,99 +1,99 @@\n a\n", "@@ -1 +1 @@\n-a\n+b"]) {
      expect(() => parsePatch(text)).not.toThrow();
    }
  });
});

describe("where two lines differ", () => {
  const cases: [string, string, ReturnType<typeof apart>][] = [
    ["let a = 1;", "let b = 1;", [["let ", "a", " = 1;"], ["let ", "b", " = 1;"]]],
    ["print(x)", "print(x, y)", [["print(x", "", ")"], ["print(x", ", y", ")"]]],
    ["abc", "xyz", null],
    ["", "", null],
    ["call(😀)", "call(😁)", [["call(", "😀", ")"], ["call(", "😁", ")"]]],
  ];
  it.each(cases)("%s | %s", (left, right, expected) => {
    expect(apart(left, right)).toEqual(expected);
  });
});

describe("what hides in a text", () => {
  const cases: [string, string][] = [
    ["plain text, 中文, 😀\n\tindented\r\n", "plain text, 中文, 😀\n\tindented\r\n"],
    ["\u001b[31mred\u001b[0m", "red"],
    ["rm \u202egnp.x", "rm ⟨U+202E⟩gnp.x"],
    ["a\u200bb\u2066c", "a⟨U+200B⟩b⟨U+2066⟩c"],
    ["nul\u0000, bell\u0007, tag\u{e0041}", "nul⟨U+0000⟩, bell⟨U+0007⟩, tag⟨U+E0041⟩"],
  ];
  it.each(cases)("%j", (text, expected) => {
    expect(visible(text)).toBe(expected);
  });
});
