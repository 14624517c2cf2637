/** Numbers and times the way people read them. */

import type { Language } from "../i18n/language";

const locale = (language: Language) => (language === "zh" ? "zh-CN" : "en");

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

export function bytes(count: number): string {
  if (count < 1024) return `${count} B`;
  if (count < 1024 * 1024) return `${(count / 1024).toFixed(1)} KB`;
  return `${(count / 1024 / 1024).toFixed(1)} MB`;
}

export function tokens(count: number, language: Language): string {
  return new Intl.NumberFormat(locale(language), { notation: count >= 100_000 ? "compact" : "standard", maximumFractionDigits: 1 }).format(count);
}

export function money(usd: number): string {
  return usd === 0 ? "$0.00" : usd < 0.01 ? `$${usd.toFixed(4)}` : `$${usd.toFixed(2)}`;
}

export function moment(at: string, language: Language): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return at;
  const today = new Date().toDateString() === date.toDateString();
  return new Intl.DateTimeFormat(locale(language), today ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" }).format(date);
}

/** The time of day to the second, where the person is. */
export function clock(at: string, language: Language): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? at : new Intl.DateTimeFormat(locale(language), { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" }).format(date);
}

/** The last part of a path, which is what people call a folder. */
export function folder(path: string): string {
  return path.replace(/\/+$/, "").split("/").pop() || path;
}
