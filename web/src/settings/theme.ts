/** Light, dark, or as the system says. */

import { useCallback, useState } from "react";
import { recall, remember } from "./storage";

export type Theme = "system" | "light" | "dark";
const KEY = "holon_theme";

function read(): Theme {
  const stored = recall(KEY);
  return stored === "light" || stored === "dark" ? stored : "system";
}

export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(read);
  const choose = useCallback((next: Theme) => {
    remember(KEY, next === "system" ? null : next);
    if (next === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    setTheme(next);
  }, []);
  return [theme, choose];
}
