/** A sentence of the page in which names of programs stand between backticks. */

import { Fragment } from "react";

export function Words({ text }: { text: string }) {
  return text.split("`").map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : <Fragment key={at}>{part}</Fragment>));
}
