/** Markdown of models and files: no raw HTML, no pictures from elsewhere, links that leave are marked and isolated. */

import { memo, useMemo, useRef, type ReactNode } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { useSpeech } from "../i18n/language";
import { type Block, definitions, grown, hasNotes } from "./blocks";
import { Code } from "./code";
import { CopyButton } from "./copy";
import { visible } from "./visible";

const PLUGINS = [remarkGfm];

const COMPONENTS: Components = {
  a: ({ href, children }) =>
    href && /^(https?:|mailto:)/i.test(href) ? (
      <a href={href} target="_blank" rel="noopener noreferrer nofollow">
        {children}
      </a>
    ) : href?.startsWith("#") ? (
      <a href={href} onClick={jump}>{children}</a>
    ) : (
      <code title={href}>{children}</code>
    ),
  // A picture would be a request to another host; its words are enough.
  img: ({ alt, src }) => (
    <span className="picture">
      {alt || (typeof src === "string" ? src : "")}
      {typeof src === "string" && /^https?:/i.test(src) && (
        <>
          {" "}
          <a href={src} target="_blank" rel="noopener noreferrer nofollow">
            ↗ <span className="sr-only">{src}</span>
          </a>
        </>
      )}
    </span>
  ),
  // Below the page's own headings, so that the outline stays in order.
  h1: ({ children }) => <h3 className="md-h1">{children}</h3>,
  h2: ({ children }) => <h3 className="md-h2">{children}</h3>,
  h3: ({ children }) => <h4 className="md-h3">{children}</h4>,
  h4: ({ children }) => <h5>{children}</h5>,
  h5: ({ children }) => <h6>{children}</h6>,
  input: ({ checked }) => <Tick checked={checked === true} />,
  pre: ({ children }) => <CodeBlock>{children}</CodeBlock>,
  // Code is copied and run: nothing in it may hide.
  code: ({ className, children }) => <code className={className}>{typeof children === "string" ? <Code text={children} name={/language-([\w+#.-]+)/.exec(className ?? "")?.[1] ?? ""} /> : children}</code>,
  // Each list begins on the side its first words do.
  ul: ({ className, children }) => <ul className={className} dir="auto">{children}</ul>,
  ol: ({ className, start, children }) => <ol className={className} start={start} dir="auto">{children}</ol>,
  table: ({ children }) => <TableBox>{children}</TableBox>,
};

function Tick({ checked }: { checked: boolean }) {
  const { t } = useSpeech();
  return (
    <span className="tick" role="img" aria-label={checked ? t("todo.done") : t("todo.pending")}>
      {checked ? "☑" : "☐"}
    </span>
  );
}

/** Footnotes jump inside the page; the address after # belongs to the routes. */
function jump(event: React.MouseEvent<HTMLAnchorElement>): void {
  event.preventDefault();
  const target = event.currentTarget.getAttribute("href")?.slice(1);
  if (target) document.getElementById(decodeURIComponent(target))?.scrollIntoView({ block: "nearest" });
}

function TableBox({ children }: { children: ReactNode }) {
  const { t } = useSpeech();
  return (
    <div className="table-scroll" tabIndex={0} role="region" aria-label={t("table")}>
      <table>{children}</table>
    </div>
  );
}

function CodeBlock({ children }: { children: ReactNode }) {
  const { t } = useSpeech();
  return (
    <div className="code-block">
      <CopyButton text={() => plain(children)} label={t("copy.what", { what: t("code") })} />
      <pre tabIndex={0} aria-label={t("code")}>{children}</pre>
    </div>
  );
}

/** The text inside rendered children. */
function plain(node: ReactNode): string {
  if (typeof node === "string" || typeof node === "number") return String(node);
  if (Array.isArray(node)) return node.map(plain).join("");
  if (node && typeof node === "object" && "props" in node) return plain((node.props as { children?: ReactNode }).children);
  return "";
}

/** Longer texts are rendered in parts even where a note at their foot then stands apart. */
const LONG = 40_000;
/** Longer code stays plain. */
const COLOURED = 40_000;

interface Props {
  text: string;
  scope?: string;
  /** More may come. */
  live?: boolean;
}

export const Markdown = memo(function Markdown({ text, scope = "md", live = false }: Props) {
  const before = useRef<{ text: string; blocks: Block[] }>({ text: "", blocks: [] });
  const whole = !live && text.length < LONG && hasNotes(text);
  const parts = whole ? [] : grown(before.current, text);
  before.current = { text, blocks: parts };
  const links = useMemo(() => definitions(text), [text]);
  return (
    <div className="markdown">
      {whole ? (
        <Words text={text} links="" scope={scope} />
      ) : (
        chunks(parts).map((chunk) => <Chunk key={chunk[0]?.at ?? 0} parts={chunk} links={links} scope={scope} live={live} />)
      )}
    </div>
  );
});

/** Parts that are looked at together when something comes: those before are passed over in one step. */
const TOGETHER = 24;

function chunks(parts: Block[]): Block[][] {
  const found: Block[][] = [];
  for (let at = 0; at < parts.length; at += TOGETHER) found.push(parts.slice(at, at + TOGETHER));
  return found;
}

interface ChunkProps {
  parts: Block[];
  links: string;
  scope: string;
  live: boolean;
}

const Chunk = memo(
  function Chunk({ parts, links, scope, live }: ChunkProps) {
    return parts.map((part) =>
      part.kind === "fence" ? (
        <Fence key={part.at} text={part.text} info={part.info} live={live && !part.closed} />
      ) : (
        <Words key={part.at} text={part.text} links={links} scope={`${scope}-${part.at}`} />
      ),
    );
  },
  (before, now) =>
    before.links === now.links && before.scope === now.scope && before.parts.length === now.parts.length && before.parts.every((part, at) => part === now.parts[at]) && (before.live === now.live || now.parts.every((part) => part.closed)),
);

const Words = memo(function Words({ text, links, scope }: { text: string; links: string; scope: string }) {
  const options = useMemo(() => ({ clobberPrefix: `${scope}-` }), [scope]);
  return (
    <ReactMarkdown remarkPlugins={PLUGINS} remarkRehypeOptions={options} components={COMPONENTS}>
      {links === "" ? text : `${text}\n\n${links}`}
    </ReactMarkdown>
  );
});

/** Code needs no reader of Markdown, and while it comes no colours. */
const Fence = memo(function Fence({ text, info, live }: { text: string; info: string; live: boolean }) {
  const { t } = useSpeech();
  const name = info.split(/[\s{,]/, 1)[0] ?? "";
  return (
    <div className="code-block">
      <CopyButton text={() => `${text}\n`} label={t("copy.what", { what: t("code") })} />
      <pre tabIndex={0} aria-label={t("code")}>
        <code className={name ? `language-${name}` : undefined}>{live || text.length > COLOURED ? visible(text) : <Code text={text} name={name} />}</code>
      </pre>
    </div>
  );
});
