/** A git patch as rows for two columns; nothing in it is trusted to be well formed. */

export type RowKind = "same" | "change" | "hunk";

export interface Side {
  line: number;
  text: string;
  changed: boolean;
}

export interface Row {
  kind: RowKind;
  left: Side | null;
  right: Side | null;
  /** What git wrote behind the line numbers of a hunk. */
  heading: string;
}

export interface FilePatch {
  path: string;
  from: string | null;
  status: "added" | "modified" | "deleted" | "renamed";
  binary: boolean;
  notes: string[];
  rows: Row[];
  insertions: number;
  deletions: number;
}

/** Every file of a patch, in its order. */
export function parsePatch(patch: string): FilePatch[] {
  const files: FilePatch[] = [];
  const lines = patch.split("\n");
  let at = 0;
  while (at < lines.length) {
    if (!(lines[at] ?? "").startsWith("diff --git ")) {
      at++;
      continue;
    }
    const reader = new FileReader(lines, at);
    files.push(reader.read());
    at = reader.at;
  }
  return files;
}

class FileReader {
  private readonly file: FilePatch;
  private removed: Side[] = [];
  private added: Side[] = [];

  constructor(
    private readonly lines: string[],
    public at: number,
  ) {
    const [from, to] = headerPaths(lines[at] ?? "");
    this.file = { path: to, from, status: "modified", binary: false, notes: [], rows: [], insertions: 0, deletions: 0 };
    this.at++;
  }

  read(): FilePatch {
    const { file, lines } = this;
    for (; this.at < lines.length; this.at++) {
      const line = lines[this.at] ?? "";
      if (line.startsWith("diff --git ")) break;
      if (line.startsWith("@@ ")) this.hunk(line);
      else this.header(line);
    }
    if (file.status !== "renamed" || file.from === file.path) file.from = null;
    return file;
  }

  private header(line: string): void {
    const { file } = this;
    const after = (prefix: string) => (line.startsWith(prefix) ? line.slice(prefix.length) : null);
    const renameTo = after("rename to ");
    const plus = after("+++ ");
    const oldMode = after("old mode ");
    const newMode = after("new mode ");
    if (line.startsWith("new file mode")) file.status = "added";
    else if (line.startsWith("deleted file mode")) file.status = "deleted";
    else if (line.startsWith("rename from ")) {
      file.status = "renamed";
      file.from = unquote(line.slice("rename from ".length));
    } else if (renameTo !== null) file.path = unquote(renameTo);
    else if (plus !== null && plus !== "/dev/null") file.path = strip(unquote(plus.replace(/\t$/, "")));
    else if (oldMode !== null) file.notes.push(oldMode);
    else if (newMode !== null) file.notes.push(`${file.notes.pop() ?? ""} → ${newMode}`);
    else if (line.startsWith("GIT binary patch") || line.startsWith("Binary files ")) file.binary = true;
  }

  private hunk(line: string): void {
    const match = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/.exec(line);
    if (!match) return;
    let left = Number(match[1]);
    let right = Number(match[3]);
    let leftLeft = Number(match[2] ?? 1);
    let rightLeft = Number(match[4] ?? 1);
    this.file.rows.push({ kind: "hunk", left: null, right: null, heading: match[5] ?? "" });
    // The counts say where the hunk ends; a text line may well look like a header.
    while ((leftLeft > 0 || rightLeft > 0) && this.at + 1 < this.lines.length) {
      const text = this.lines[this.at + 1] ?? "";
      const sign = text.charAt(0);
      const body = text.slice(1).replace(/\r$/, "");
      if (sign === "-" && leftLeft > 0) {
        this.removed.push({ line: left++, text: body, changed: true });
        leftLeft--;
        this.file.deletions++;
      } else if (sign === "+" && rightLeft > 0) {
        this.added.push({ line: right++, text: body, changed: true });
        rightLeft--;
        this.file.insertions++;
      } else if (sign === " " || text === "") {
        this.pair();
        this.file.rows.push({
          kind: "same", heading: "",
          left: { line: left++, text: body, changed: false }, right: { line: right++, text: body, changed: false },
        });
        leftLeft--;
        rightLeft--;
      } else if (sign !== "\\") break;
      this.at++;
    }
    this.pair();
  }

  /** Sets what was removed beside what was added. */
  private pair(): void {
    const { removed, added } = this;
    for (let at = 0; at < Math.max(removed.length, added.length); at++) {
      this.file.rows.push({ kind: "change", heading: "", left: removed[at] ?? null, right: added[at] ?? null });
    }
    this.removed = [];
    this.added = [];
  }
}

/** Both names of a `diff --git` line; a name with spaces is found by both halves being equal. */
function headerPaths(line: string): [string, string] {
  const rest = line.slice("diff --git ".length);
  const quoted = /^("(?:[^"\\]|\\.)*"|\S+) ("(?:[^"\\]|\\.)*"|.+)$/.exec(rest);
  const half = (rest.length - 1) / 2;
  if (!rest.startsWith('"') && Number.isInteger(half) && rest.slice(1, half) === rest.slice(half + 2)) {
    return [strip(rest.slice(0, half)), strip(rest.slice(half + 1))];
  }
  return quoted ? [strip(unquote(quoted[1] ?? "")), strip(unquote(quoted[2] ?? ""))] : [rest, rest];
}

function strip(path: string): string {
  return path.replace(/^[ab]\//, "");
}

/** Git writes odd names in C's way, bytes as octal. */
function unquote(name: string): string {
  if (!name.startsWith('"') || !name.endsWith('"') || name.length < 2) return name;
  const bytes: number[] = [];
  const inner = name.slice(1, -1);
  const letters: Record<string, number> = { n: 10, t: 9, r: 13, a: 7, b: 8, f: 12, v: 11 };
  for (let at = 0; at < inner.length; at++) {
    const char = inner.charAt(at);
    if (char !== "\\") {
      bytes.push(...new TextEncoder().encode(char));
      continue;
    }
    const octal = /^[0-7]{3}/.exec(inner.slice(at + 1));
    if (octal) {
      bytes.push(Number.parseInt(octal[0], 8) & 0xff);
      at += 3;
    } else {
      const next = inner.charAt(++at);
      bytes.push(letters[next] ?? next.charCodeAt(0));
    }
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}
