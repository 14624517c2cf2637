/** A long list of which only the part in view exists: thousands of rows of any height, sticking to the end while it grows. */

import { memo, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, type FocusEvent, type ReactNode } from "react";
import { flushSync } from "react-dom";

interface Props<T> {
  items: readonly T[];
  keyOf: (item: T) => string;
  /** A first guess of a row's height; measured as soon as it is in view. */
  guess: (item: T) => number;
  render: (item: T) => ReactNode;
  label: string;
  /** After the last row, always there. */
  footer?: ReactNode;
  /** Offered when the end is out of view. */
  toEnd: string;
  /** Something of one's own is being added: the end is shown, wherever one was. */
  adding?: boolean;
  /** The row to be brought into view, by its key. */
  goTo?: string | null;
}

/** Rows this far outside the view are kept, in pixels. */
const MARGIN = 900;
/** So close to the end counts as at the end. */
const NEAR = 60;

/** Where each row begins; one more for the end of the last. */
export function offsets<T>(items: readonly T[], height: (item: T) => number): Float64Array {
  const tops = new Float64Array(items.length + 1);
  for (let at = 0; at < items.length; at++) tops[at + 1] = (tops[at] ?? 0) + height(items[at] as T);
  return tops;
}

/** The first row that ends below `y`. */
export function rowAt(tops: Float64Array, y: number): number {
  let low = 0;
  let high = Math.max(0, tops.length - 2);
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((tops[middle + 1] ?? 0) > y) high = middle;
    else low = middle + 1;
  }
  return low;
}

export function Roll<T>({ items, keyOf, guess, render, label, footer, toEnd, adding = false, goTo = null }: Props<T>) {
  const box = useRef<HTMLDivElement>(null);
  const rows = useRef<HTMLDivElement>(null);
  const heights = useRef(new Map<string, number>());
  const [measured, setMeasured] = useState(0);
  const [view, setView] = useState({ top: Number.MAX_SAFE_INTEGER, height: 800 });
  const [atEnd, setAtEnd] = useState(true);
  const stuck = useRef(true);
  const lastTop = useRef(0);

  // `measured` stands for the heights behind the ref.
  const tops = useMemo(() => offsets(items, (item) => heights.current.get(keyOf(item)) ?? guess(item)), [items, measured, keyOf, guess]);
  const total = tops[items.length] ?? 0;
  const top = Math.min(view.top, Math.max(0, total - view.height));
  const paper = usePaper();
  const start = paper ? 0 : rowAt(tops, top - MARGIN);
  const end = items.length === 0 ? 0 : paper ? items.length : rowAt(tops, top + view.height + MARGIN) + 1;

  const look = useCallback(() => {
    const element = box.current;
    if (!element) return;
    const { scrollTop, clientHeight, scrollHeight } = element;
    const near = scrollHeight - scrollTop - clientHeight < NEAR;
    if (near) stuck.current = true;
    else if (scrollTop < lastTop.current - 1) stuck.current = false;
    lastTop.current = scrollTop;
    setAtEnd(near || stuck.current);
    // In steps, so that small movements change nothing.
    const step = Math.floor(scrollTop / 200) * 200;
    setView((before) => (before.top === step && before.height === clientHeight ? before : { top: step, height: clientHeight }));
  }, []);

  /** Shows the end again, unless somebody has moved away from it and the browser has not told yet. */
  const stick = useCallback((element: HTMLDivElement) => {
    const { scrollTop, clientHeight, scrollHeight } = element;
    if (scrollTop < lastTop.current - 1 && scrollHeight - scrollTop - clientHeight >= NEAR) {
      stuck.current = false;
      return;
    }
    element.scrollTop = scrollHeight;
    lastTop.current = element.scrollTop;
  }, []);

  /** A form that is taller than the view is being filled in: the end may wait. */
  const hold = useCallback((event: FocusEvent<HTMLDivElement>) => {
    const height = event.target.closest("form")?.offsetHeight ?? 0;
    if (height > event.currentTarget.clientHeight) stuck.current = false;
  }, []);

  const geometry = useRef({ tops, items, keyOf });
  geometry.current = { tops, items, keyOf };

  const observer = useMemo(() => {
    if (typeof ResizeObserver === "undefined") return null;
    return new ResizeObserver((changes) => {
      const element = box.current;
      if (!element) return;
      const inset = rows.current?.offsetTop ?? 0;
      let above = 0;
      let changed = false;
      for (const change of changes) {
        const row = change.target as HTMLElement;
        const key = row.dataset.key;
        if (key === undefined || !row.isConnected) continue;
        const height = row.getBoundingClientRect().height;
        const index = Number(row.dataset.index);
        const { tops: known } = geometry.current;
        const before = heights.current.get(key) ?? (known[index + 1] ?? 0) - (known[index] ?? 0);
        if (heights.current.get(key) === height) continue;
        heights.current.set(key, height);
        changed = true;
        if ((known[index + 1] ?? 0) <= element.scrollTop - inset) above += height - before;
      }
      if (!changed) return;
      setMeasured((count) => count + 1);
      if (stuck.current) stick(element);
      else if (above !== 0) {
        lastTop.current += above;
        element.scrollTop += above;
      }
    });
  }, []);
  useEffect(() => () => observer?.disconnect(), [observer]);

  useLayoutEffect(() => {
    const element = box.current;
    const { tops: known, items: all, keyOf: name } = geometry.current;
    const at = goTo === null ? -1 : all.findIndex((item) => name(item) === goTo);
    if (!element || at < 0) return;
    stuck.current = false;
    element.scrollTop = Math.max(0, (known[at] ?? 0) + (rows.current?.offsetTop ?? 0) - element.clientHeight / 4);
    lastTop.current = element.scrollTop;
    look();
    // Rows that were never seen have guessed heights: once the row is there, it is put into view exactly.
    const timer = setTimeout(() => element.querySelector(`[data-key="${CSS.escape(goTo ?? "")}"]`)?.scrollIntoView({ block: "center" }), 60);
    return () => clearTimeout(timer);
  }, [goTo, look]);
  useLayoutEffect(() => {
    if (!adding) return;
    stuck.current = true;
    lastTop.current = 0;
    setAtEnd(true);
  }, [adding]);
  useLayoutEffect(() => {
    const element = box.current;
    if (element && stuck.current) stick(element);
  });
  useEffect(() => {
    const element = box.current;
    if (!element || typeof ResizeObserver === "undefined") return;
    const watch = new ResizeObserver(() => {
      if (stuck.current) stick(element);
      look();
    });
    watch.observe(element);
    return () => watch.disconnect();
  }, [look, stick]);

  const shown: ReactNode[] = [];
  for (let at = start; at < end; at++) {
    const item = items[at];
    if (item === undefined) break;
    shown.push(<Row key={keyOf(item)} name={keyOf(item)} index={at} count={items.length} observer={observer} item={item} render={render} />);
  }

  return (
    <div className="roll">
      {/* A region that scrolls can be focused, or a keyboard could not scroll it. */}
      <div ref={box} className="roll-box" onScroll={look} onFocus={hold} tabIndex={0} role="region" aria-label={label}>
        <div ref={rows} className="roll-rows" role="list" style={{ paddingTop: tops[start] ?? 0, paddingBottom: Math.max(0, total - (tops[end] ?? total)) }}>
          {shown}
        </div>
        {footer}
      </div>
      {!atEnd && (
        <button
          type="button"
          className="to-end"
          onClick={() => {
            stuck.current = true;
            setAtEnd(true);
            if (box.current) box.current.scrollTop = box.current.scrollHeight;
          }}
        >
          {toEnd}
        </button>
      )}
    </div>
  );
}

/** Whether the page is being put on paper, which shows everything. */
function usePaper(): boolean {
  const [paper, setPaper] = useState(false);
  useEffect(() => {
    // At once: the browser lays the pages out right after this.
    const begin = () => flushSync(() => setPaper(true));
    const end = () => setPaper(false);
    addEventListener("beforeprint", begin);
    addEventListener("afterprint", end);
    return () => {
      removeEventListener("beforeprint", begin);
      removeEventListener("afterprint", end);
    };
  }, []);
  return paper;
}

interface RowProps<T> {
  name: string;
  index: number;
  count: number;
  observer: ResizeObserver | null;
  item: T;
  render: (item: T) => ReactNode;
}

function PlainRow<T>({ name, index, count, observer, item, render }: RowProps<T>) {
  const ref = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const row = ref.current;
    if (!row || !observer) return;
    observer.observe(row);
    return () => observer.unobserve(row);
  }, [observer]);
  return (
    <div ref={ref} className="roll-row" role="listitem" aria-posinset={index + 1} aria-setsize={count} data-key={name} data-index={index}>
      {render(item)}
    </div>
  );
}

const Row = memo(PlainRow) as typeof PlainRow;
