/** Where the focus goes when what was used disappears; without it a keyboard would begin at the top again. */

import { useCallback, useEffect, useRef } from "react";

/** Gives the focus to the first of these that is there, if nothing has it. */
export function catchFocus(...selectors: string[]): void {
  setTimeout(() => {
    if (document.activeElement !== document.body) return;
    for (const selector of selectors) {
      const found = document.querySelector<HTMLElement>(selector);
      if (found) return found.focus();
    }
  });
}

/** Call what it returns when the person has answered: once the part is gone, the focus is caught. */
export function useFocusAfter(selector: string): () => void {
  const used = useRef(false);
  useEffect(
    () => () => {
      if (used.current) catchFocus(selector);
    },
    [selector],
  );
  return useCallback(() => {
    used.current = true;
  }, []);
}
