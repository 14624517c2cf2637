/** The branches of the conversation in view, read when it is opened and when something new was said. */

import { useCallback, useEffect, useState } from "react";
import { api } from "../api/client";
import type { Thread } from "../api/contract";

export function useFamily(id: string, turns: number): [Thread[], () => void] {
  const [family, setFamily] = useState<Thread[]>([]);
  const [asked, setAsked] = useState(0);
  const reload = useCallback(() => setAsked((count) => count + 1), []);
  useEffect(() => {
    let current = true;
    // Without it there is only nothing to choose from.
    api.branches(id).then(
      ({ threads }) => current && setFamily(threads),
      () => undefined,
    );
    return () => {
      current = false;
    };
  }, [id, turns, asked]);
  return [family, reload];
}
