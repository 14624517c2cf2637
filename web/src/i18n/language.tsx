/** The page's language: a table per language, chosen by the person, else by the browser. */

import { createContext, useCallback, useContext, useEffect, useMemo, useState, type ReactNode } from "react";
import { speak } from "../api/client";
import { recall, remember } from "../settings/storage";
import { en } from "./en";
import { zh } from "./zh";

export type Key = keyof typeof en;
export type Table = Record<Key, string>;
export type Language = "en" | "zh";
export type Translate = (key: Key, values?: Record<string, string | number>) => string;

export const TABLES: Record<Language, Table> = { en, zh };

/** The text with `{name}` replaced by its value. */
export function fill(text: string, values?: Record<string, string | number>): string {
  if (!values) return text;
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => (name in values ? String(values[name]) : whole));
}

/** A key made at run time, with a text of its own where the table has none. */
export function lookUp(language: Language, key: string, otherwise: string): string {
  return (TABLES[language] as Record<string, string>)[key] ?? otherwise;
}

export function chosenLanguage(stored: string | null, browser: string): Language {
  const tag = stored ?? browser;
  return tag.toLowerCase().startsWith("zh") ? "zh" : "en";
}

interface Speech {
  language: Language;
  t: Translate;
  /** For codes and names that come from the server. */
  named: (prefix: string, name: string) => string;
  choose: (language: Language) => void;
}

const Context = createContext<Speech | null>(null);

export function LanguageProvider({ children }: { children: ReactNode }) {
  const [language, setLanguage] = useState<Language>(() => chosenLanguage(recall("holon_language"), navigator.language));
  // Requests of the first effects already carry it.
  speak(language);
  useEffect(() => {
    document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  }, [language]);
  const choose = useCallback((next: Language) => {
    remember("holon_language", next);
    setLanguage(next);
  }, []);
  const speech = useMemo<Speech>(
    () => ({
      language,
      t: (key, values) => fill(TABLES[language][key], values),
      named: (prefix, name) => lookUp(language, `${prefix}.${name}`, name.replaceAll("_", " ")),
      choose,
    }),
    [language, choose],
  );
  return <Context value={speech}>{children}</Context>;
}

export function useSpeech(): Speech {
  const speech = useContext(Context);
  if (speech === null) throw new Error("no language above this component");
  return speech;
}
