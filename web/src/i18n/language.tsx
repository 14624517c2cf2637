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

/** The text of a key made at run time, where the table has one. */
export function lookUp(language: Language, key: string): string | null {
  return Object.hasOwn(TABLES[language], key) ? TABLES[language][key as Key] : null;
}

export function chosenLanguage(stored: string | null, browser: string): Language {
  const tag = stored ?? browser;
  return tag.toLowerCase().startsWith("zh") ? "zh" : "en";
}

export interface Speech {
  language: Language;
  t: Translate;
  /** For names that come from the server; by themselves where there are no words for them. */
  named: (prefix: string, name: string) => string;
  /** For codes that come from the server; nothing where there are no words for them. */
  known: (prefix: string, code: string) => string | null;
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
      named: (prefix, name) => lookUp(language, `${prefix}.${name}`) ?? name.replaceAll("_", " "),
      known: (prefix, code) => lookUp(language, `${prefix}.${code}`),
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
