/** Columns that become drawers on a narrow screen: Escape closes them, and what they cover cannot be reached. */

import { useEffect, useRef, useSyncExternalStore, type RefObject } from "react";

export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const media = matchMedia(query);
      media.addEventListener("change", listener);
      return () => media.removeEventListener("change", listener);
    },
    () => matchMedia(query).matches,
  );
}

/** Takes the focus into an open drawer and back out of it; Escape closes. */
export function useDrawer<E extends HTMLElement>(open: boolean, onClose: () => void): RefObject<E | null> {
  const ref = useRef<E>(null);
  const close = useRef(onClose);
  close.current = onClose;
  useEffect(() => {
    if (!open) return;
    const before = document.activeElement;
    ref.current?.querySelector<HTMLElement>("a, button")?.focus();
    const escape = (event: KeyboardEvent) => {
      if (event.key === "Escape" && !document.querySelector("dialog[open]")) close.current();
    };
    addEventListener("keydown", escape);
    return () => {
      removeEventListener("keydown", escape);
      if (before instanceof HTMLElement) setTimeout(() => before.focus());
    };
  }, [open]);
  return ref;
}
