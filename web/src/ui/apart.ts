/** The part in which two lines differ, between a common beginning and a common end. */

type Parts = [string, string, string];

/** Nothing when the lines have too little in common for a mark to help. */
export function apart(left: string, right: string): [Parts, Parts] | null {
  const shorter = Math.min(left.length, right.length);
  let start = 0;
  while (start < shorter && left.charCodeAt(start) === right.charCodeAt(start)) start++;
  let end = 0;
  while (end < shorter - start && left.charCodeAt(left.length - 1 - end) === right.charCodeAt(right.length - 1 - end)) end++;
  // Never between the halves of a surrogate pair.
  if (start > 0 && isHigh(left.charCodeAt(start - 1))) start--;
  if (end > 0 && isLow(left.charCodeAt(left.length - end))) end--;
  const common = left.slice(0, start).trim().length + left.slice(left.length - end).trim().length;
  if (common < 3 || common < shorter * 0.3) return null;
  const cut = (text: string): Parts => [text.slice(0, start), text.slice(start, text.length - end), text.slice(text.length - end)];
  return [cut(left), cut(right)];
}

const isHigh = (code: number) => code >= 0xd800 && code <= 0xdbff;
const isLow = (code: number) => code >= 0xdc00 && code <= 0xdfff;
