/** Reading JSON of which only the outside is known: what is missing or odd becomes empty, never an error. */

export type Fields = Record<string, unknown>;

export function list(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter((one): one is Fields => typeof one === "object" && one !== null) : [];
}

export function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : [];
}

export function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function number(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}
