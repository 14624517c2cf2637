/** Which cards are open; remembered beside the rows, which come and go as the list scrolls. */

import { useState } from "react";

const choices = new Map<string, boolean>();

export function useExpanded(key: string, otherwise: boolean): [boolean, () => void] {
  const [chosen, setChosen] = useState<boolean | undefined>(() => choices.get(key));
  const open = chosen ?? otherwise;
  return [
    open,
    () => {
      choices.set(key, !open);
      setChosen(!open);
    },
  ];
}
