/** A path that has to fit in a line: its folders are cut before its name is. */

import { visible } from "./visible";

export function Path({ path }: { path: string }) {
  const end = path.lastIndexOf("/") + 1;
  return (
    <span className="path" title={visible(path)}>
      {end > 0 && <span className="path-folders">{visible(path.slice(0, end))}</span>}
      <span className="path-name">{visible(path.slice(end))}</span>
    </span>
  );
}
