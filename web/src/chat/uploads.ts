/** Files on their way to the server. */

import { useCallback, useState } from "react";
import { api } from "../api/client";
import type { Upload } from "../api/contract";

export interface Uploads {
  files: Upload[];
  busy: number;
  error: unknown;
  add: (list: Iterable<File>) => void;
  remove: (id: string) => void;
  reset: (files?: Upload[]) => void;
  forgive: () => void;
}

/** Sends files as they are chosen; one above the limit is refused before it is sent. */
export function useUploads(limit: number | null, tooLarge: (name: string) => string): Uploads {
  const [files, setFiles] = useState<Upload[]>([]);
  const [busy, setBusy] = useState(0);
  const [error, setError] = useState<unknown>(null);
  const send = async (file: File) => {
    if (limit !== null && file.size > limit) return setError(new Error(tooLarge(file.name)));
    setBusy((count) => count + 1);
    try {
      const upload = await api.upload(file);
      setFiles((before) => [...before, upload]);
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy((count) => count - 1);
    }
  };
  return {
    files,
    busy,
    error,
    add: (list) => {
      setError(null);
      for (const file of list) void send(file);
    },
    remove: (id) => setFiles((before) => before.filter((file) => file.id !== id)),
    reset: useCallback((next: Upload[] = []) => setFiles(next), []),
    forgive: () => setError(null),
  };
}
