/** The page's few pictures, drawn in the colour of the text around them; always beside or under a name. */

const PATHS = {
  menu: "M3 5h14M3 10h14M3 15h14",
  panel: "M3 4h14v12H3zM12.5 4v12",
  plus: "M10 4v12M4 10h12",
  send: "M10 16V4M5 9l5-5 5 5",
  stop: "M6 6h8v8H6z",
  down: "M5 8l5 5 5-5",
  right: "M8 5l5 5-5 5",
  check: "M4 10.5l4 4 8-9",
  cross: "M5 5l10 10M15 5L5 15",
  clip: "M14.5 9.5l-5 5a3.2 3.2 0 01-4.5-4.5l5.8-5.8a2.2 2.2 0 013.1 3.1l-5.6 5.6a1 1 0 01-1.5-1.5L11.500 6.800",
  trash: "M4 6h12M8 6V4h4v2M6 6l.7 10h6.600L14 6",
  copy: "M7 7h9v9H7zM4 13V4h9",
  chat: "M4 4h12v9H9l-4 3v-3H4z",
  runs: "M6 4l9 6-9 6z",
  audit: "M5 3h10v14H5zM8 7h4M8 10h4M8 13h2",
  modes: "M4 6h7M15 6h1M4 14h1M9 14h7M13 4v4M7 12v4",
  undo: "M7 5L4 8l3 3M4 8h7a4 4 0 010 8H8",
  shield: "M10 3l6 2v5c0 3.500-2.500 6-6 7-3.500-1-6-3.500-6-7V5z",
  warn: "M10 3.500l7.500 13h-15zM10 8.500v4M10 14.300v.2",
  clock: "M10 3.500a6.500 6.500 0 100 13 6.500 6.500 0 000-13zM10 6.500V10l2.500 1.500",
  pencil: "M4 16l1-4 8-8 3 3-8 8zM11.500 5.500l3 3",
  again: "M15.500 8A6 6 0 105 14.500M15.500 3.500V8H11",
  more: "M4.500 10h.01M10 10h.01M15.500 10h.01",
  pin: "M7 3h6l-1 5 2.500 3h-9L8 8zM10 11v6",
  search: "M9 3.500a5.500 5.500 0 100 11 5.500 5.500 0 000-11zM13 13l4 4",
  branch: "M6 4v12M6 12c0-4 8-2 8-6M14 6V4",
  bell: "M5.500 13.500V9a4.500 4.500 0 019 0v4.500l1.500 1.500H4zM8.500 16.500a1.500 1.500 0 003 0",
  left: "M12 5l-5 5 5 5",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg className="icon" width={size} height={size} viewBox="0 0 20 20" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} fill="none" stroke="currentColor" strokeWidth="1.6" strokeLinecap="round" strokeLinejoin="round" />
    </svg>
  );
}
