/** Markdown as it is said aloud: without the marks, which a voice would spell out. */

export function spoken(markdown: string): string {
  return markdown
    .replace(/^ *(```|~~~).*$/gm, "")
    .replace(/^[ >]*(#{1,6}|[-*+]( \[[ xX]\])?) +/gm, "")
    .replace(/^[ |:-]+$/gm, "")
    .replace(/^ *\| *| *\| *$/gm, "")
    .replace(/ *\| */g, ", ")
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/[`*]+|^> ?/gm, "")
    .replace(/\s*\n\s*/g, "\n")
    .trim();
}
