/** Reading something from the server into a component. */

import { useCallback, useEffect, useRef, useState } from "react";

export interface Asked<T> {
  value: T | null;
  error: unknown;
  loading: boolean;
  again: () => void;
}

/** Asks when `key` changes and when `again` is called; late answers to old questions are dropped. */
export function useServer<T>(key: string, ask: () => Promise<T>): Asked<T> {
  const [state, setState] = useState<{ key: string; value: T | null; error: unknown; loading: boolean }>({
    key, value: null, error: null, loading: true,
  });
  const [count, setCount] = useState(0);
  const latest = useRef(ask);
  latest.current = ask;
  useEffect(() => {
    let current = true;
    setState((before) => ({ key, value: before.key === key ? before.value : null, error: null, loading: true }));
    latest.current().then(
      (value) => current && setState({ key, value, error: null, loading: false }),
      (error: unknown) => current && setState((before) => ({ ...before, key, error, loading: false })),
    );
    return () => {
      current = false;
    };
  }, [key, count]);
  const again = useCallback(() => setCount((before) => before + 1), []);
  return { value: state.key === key ? state.value : null, error: state.error, loading: state.loading, again };
}
