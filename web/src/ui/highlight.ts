/** Colours for code: a small reader that knows comments, strings, numbers and the words of a language, and nothing of its grammar. */

export type Tone = "comment" | "string" | "number" | "keyword" | "name" | "plus" | "minus" | "meta";

/** A piece of a text; no tone is plain. */
export interface Piece {
  text: string;
  tone: Tone | null;
}

interface Grammar {
  /** Begins a comment that the end of the line ends. */
  line: string[];
  /** Begin and end a comment. */
  block: [string, string] | null;
  quotes: string;
  /** Strings in three quotes go over lines. */
  triple: boolean;
  words: Set<string>;
}

const words = (text: string) => new Set(text.split(" "));
const C_LIKE = { line: ["//"], block: ["/*", "*/"] as [string, string], quotes: `"'`, triple: false };
const HASH = { line: ["#"], block: null, quotes: `"'`, triple: false };

const JS = words(
  "abstract as async await boolean break case catch class const continue debugger declare default delete do else enum export extends false finally for from function get if implements import in instanceof interface keyof let namespace new null number of private protected public readonly return satisfies set static string super switch this throw true try type typeof undefined unknown var void while with yield",
);

const GRAMMARS: Record<string, Grammar> = {
  js: { ...C_LIKE, quotes: "\"'`", words: JS },
  rust: {
    ...C_LIKE,
    quotes: `"`,
    words: words("as async await bool box break char const continue crate dyn else enum extern f32 f64 false fn for i16 i32 i64 i8 if impl in isize let loop match mod move mut pub ref return self Self static str String struct super trait true type u16 u32 u64 u8 unsafe use usize where while"),
  },
  go: { ...C_LIKE, quotes: "\"'`", words: words("bool break byte case chan const continue default defer else error fallthrough false for func go goto if import int int64 interface map nil package range return rune select string struct switch true type var") },
  c: {
    ...C_LIKE,
    words: words("abstract auto bool boolean break byte case catch char class const constexpr continue default delete do double else enum extends extern false final finally float for friend goto if implements import inline instanceof int interface internal let long namespace new null nullptr operator override package private protected public register return short signed sizeof static string struct super switch template this throw throws true try typedef typename union unsigned using val var virtual void volatile while"),
  },
  python: { ...HASH, triple: true, words: words("False None True and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return self try while with yield") },
  shell: { ...HASH, words: words("case cd do done echo elif else esac exit export fi for function if in local readonly return set shift source then trap unset until while") },
  ruby: { ...HASH, words: words("alias and begin break case class def do else elsif end ensure false for if in module next nil not or redo require rescue retry return self super then true undef unless until when while yield") },
  data: { ...HASH, words: words("true false null yes no on off") },
  sql: {
    line: ["--"],
    block: ["/*", "*/"],
    quotes: `'"`,
    triple: false,
    words: words("ADD ALTER AND AS ASC BEGIN BY CASE CREATE DELETE DESC DISTINCT DROP ELSE END EXISTS FROM GROUP HAVING IN INDEX INSERT INTO IS JOIN KEY LEFT LIKE LIMIT NOT NULL ON OR ORDER PRIMARY REFERENCES SELECT SET TABLE THEN UNION UNIQUE UPDATE VALUES WHEN WHERE WITH"),
  },
  json: { line: [], block: null, quotes: `"`, triple: false, words: words("true false null") },
  css: { line: [], block: ["/*", "*/"], quotes: `"'`, triple: false, words: words("important media supports from to") },
};

/** Names of languages and ends of file names. */
const KNOWN: Record<string, string> = {};
const NAMES: [string, string][] = [
  ["js", "js jsx mjs cjs ts tsx mts cts javascript typescript vue svelte"],
  ["rust", "rs rust"],
  ["go", "go golang"],
  ["c", "c h cc cpp cxx hpp c++ cs csharp java kt kts kotlin scala swift dart php groovy gradle zig proto"],
  ["python", "py pyi python starlark bzl"],
  ["shell", "sh bash zsh fish shell console dockerfile makefile mk"],
  ["ruby", "rb ruby gemspec rake ex exs elixir"],
  ["data", "yaml yml toml ini conf cfg env properties hcl tf"],
  ["sql", "sql"],
  ["json", "json jsonc json5 jsonl lock"],
  ["css", "css scss less"],
];
for (const [grammar, names] of NAMES) for (const name of names.split(" ")) KNOWN[name] = grammar;

/** The language of a file or a code block by its name; none where nobody knows it. */
export function languageOf(name: string): string | null {
  const last = name.toLowerCase().split("/").at(-1) ?? "";
  if (last === "diff" || last === "patch" || /\.(diff|patch)$/.test(last)) return "diff";
  return KNOWN[last] ?? KNOWN[last.split(".").at(-1) ?? ""] ?? null;
}

/** Longer texts stay plain: colours help nobody who scrolls through so much. */
const MOST = 200_000;

/** The pieces of a text, in its order; together they are the text. */
export function highlight(text: string, language: string | null): Piece[] {
  if (language === "diff") return diffPieces(text);
  const grammar = language === null ? undefined : GRAMMARS[language];
  if (grammar === undefined || text.length > MOST) return [{ text, tone: null }];
  return new Reader(text, grammar).read();
}

/** The same line by line. */
export function highlightLines(text: string, language: string | null): Piece[][] {
  const lines: Piece[][] = [[]];
  for (const { text: piece, tone } of highlight(text, language)) {
    piece.split("\n").forEach((part, at) => {
      if (at > 0) lines.push([]);
      if (part !== "") lines.at(-1)?.push({ text: part, tone });
    });
  }
  return lines;
}

function diffPieces(text: string): Piece[] {
  return text.split(/(?<=\n)/).map((line) => {
    const tone = /^(\+\+\+|---|diff |index |@@)/.test(line) ? "meta" : line.startsWith("+") ? "plus" : line.startsWith("-") ? "minus" : null;
    return { text: line, tone };
  });
}

class Reader {
  private readonly pieces: Piece[] = [];
  private plain = 0;
  private at = 0;

  constructor(
    private readonly text: string,
    private readonly grammar: Grammar,
  ) {}

  read(): Piece[] {
    const { text } = this;
    while (this.at < text.length) {
      const end = this.comment() ?? this.string() ?? this.word();
      if (end === null) this.at++;
    }
    this.flush(text.length);
    return this.pieces;
  }

  private take(end: number, tone: Tone): number {
    this.flush(this.at);
    this.pieces.push({ text: this.text.slice(this.at, end), tone });
    this.at = this.plain = end;
    return end;
  }

  private flush(end: number): void {
    if (end > this.plain) this.pieces.push({ text: this.text.slice(this.plain, end), tone: null });
    this.plain = end;
  }

  private comment(): number | null {
    const { text, at, grammar } = this;
    if (grammar.block && text.startsWith(grammar.block[0], at)) {
      const end = text.indexOf(grammar.block[1], at + grammar.block[0].length);
      return this.take(end < 0 ? text.length : end + grammar.block[1].length, "comment");
    }
    // `$#` and `a#b` begin nothing; `http://` neither.
    const before = text.charAt(at - 1);
    if (!grammar.line.some((mark) => text.startsWith(mark, at)) || /[\w$:]/.test(before)) return null;
    const end = text.indexOf("\n", at);
    return this.take(end < 0 ? text.length : end, "comment");
  }

  private string(): number | null {
    const { text, at, grammar } = this;
    const quote = text.charAt(at);
    if (!grammar.quotes.includes(quote)) return null;
    if (grammar.triple && text.startsWith(quote.repeat(3), at)) {
      const end = text.indexOf(quote.repeat(3), at + 3);
      return this.take(end < 0 ? text.length : end + 3, "string");
    }
    for (let end = at + 1; end < text.length; end++) {
      const char = text.charAt(end);
      if (char === "\\") end++;
      else if (char === quote) return this.take(end + 1, "string");
      // A quote that nothing closes is an apostrophe.
      else if (char === "\n" && quote !== "`") return null;
    }
    return null;
  }

  private word(): number | null {
    const { text, at, grammar } = this;
    const char = text.charAt(at);
    if (!/[\p{L}\p{N}_]/u.test(char)) return null;
    const pattern = /[\p{L}\p{N}_]+/uy;
    pattern.lastIndex = at;
    const word = pattern.exec(text)?.[0] ?? char;
    const end = at + word.length;
    if (/^\d/.test(word)) return this.take(end, "number");
    if (grammar.words.has(word) || (grammar === GRAMMARS.sql && grammar.words.has(word.toUpperCase()))) return this.take(end, "keyword");
    if (text.charAt(end) === "(") return this.take(end, "name");
    this.at = end;
    return end;
  }
}
