import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { chosenLanguage, fill, TABLES, type Language } from "../../src/i18n/language";

const src = new URL("../../src", import.meta.url).pathname;
const sources = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name) && !name.startsWith("i18n"));
const text = sources.map((name) => readFileSync(join(src, name), "utf8")).join("\n");
const holes = (sentence: string) => [...sentence.matchAll(/\{(\w+)\}/g)].map((match) => match[1]).sort();

describe("languages", () => {
  const keys = Object.keys(TABLES.en);
  const others = (Object.keys(TABLES) as Language[]).filter((language) => language !== "en");

  it.each(others)("%s has every text, none empty, with the same places to fill", (language) => {
    expect(Object.keys(TABLES[language]).sort()).toEqual(keys.toSorted());
    for (const key of keys) {
      const [mine, theirs] = [TABLES.en[key as keyof typeof TABLES.en], TABLES[language][key as keyof typeof TABLES.en]];
      expect(theirs.trim(), key).not.toBe("");
      expect(holes(theirs), key).toEqual(holes(mine));
    }
  });

  it("is Chinese where it says so", () => {
    const same = keys.filter((key) => !/[\u4e00-\u9fff]/.test(TABLES.zh[key as keyof typeof TABLES.zh]));
    expect(same).toEqual([]);
  });

  it("holds no text that nobody uses", () => {
    const families = new Set([...text.matchAll(/(?:named|known)\("(\w+)"/g)].map((match) => match[1]));
    for (const match of text.matchAll(/t\(`(\w+)\.\$\{/g)) families.add(match[1]);
    const unused = keys.filter((key) => !text.includes(`"${key}"`) && !families.has(key.split(".")[0]));
    expect(unused).toEqual([]);
  });

  it("leaves no sentence in the components", () => {
    // Words between tags are texts; names and units are not sentences.
    const loose = [...text.matchAll(/>\s*([A-Z][a-z]+ [a-z]+[^<>{}]*)</g)].map((match) => match[1]);
    expect(loose).toEqual([]);
  });

  it("fills what it is given and leaves the rest", () => {
    expect(fill("{a} of {b}, {c}", { a: 1, b: "two" })).toBe("1 of two, {c}");
  });

  it("takes the person's word before the browser's", () => {
    expect([chosenLanguage(null, "zh-TW"), chosenLanguage(null, "de"), chosenLanguage("en", "zh-CN"), chosenLanguage("zh", "en")]).toEqual(["zh", "en", "en", "zh"]);
  });
});
