/** How the files of a run's evidence are called and ordered. */

import { list, text, type Fields } from "./reading";

interface Named {
  path: string;
}

/** Of each run: what the agent said, then the checks, then the rest; what the timeline tells already comes last. */
export function inOrder<T extends Named>(files: readonly T[]): T[] {
  const folder = (path: string) => path.slice(0, path.lastIndexOf("/") + 1);
  const rank = (path: string) => {
    const name = path.slice(folder(path).length);
    return name === "agent.log" ? 0 : name.startsWith("check-") ? 1 : name === "events.jsonl" ? 3 : 2;
  };
  const compare = new Intl.Collator("en", { numeric: true }).compare;
  return files.toSorted((a, b) => compare(folder(a.path), folder(b.path)) || rank(a.path) - rank(b.path) || compare(a.path, b.path));
}

/** The names of a flow's steps by the ids of their runs. */
export function stepNames(manifest: Fields | null): Map<string, string> {
  const metadata = manifest?.metadata as Fields | null | undefined;
  const flow = metadata?.flow as Fields | null | undefined;
  return new Map(list(flow?.steps).map((step) => [text(step.run_id), text(step.name)]));
}

/** A file's name as people know it: that of its step instead of a run's id. */
export function titled(path: string, names: ReadonlyMap<string, string>): string {
  return path.replace(/(?<=^|\/)steps\/([^/]+)\//g, (_, id: string) => `${names.get(id) || id}/`);
}
