/** Gathers events and hands them on once per frame: a fast stream costs one rendering per frame, not one per token. */

import type { StreamEvent } from "../api/contract";

export class Batch {
  private waiting: StreamEvent[] = [];
  private planned = false;

  constructor(private readonly flush: (events: StreamEvent[]) => void) {}

  add(event: StreamEvent): void {
    this.waiting.push(event);
    if (this.planned) return;
    this.planned = true;
    // Frames stop in a hidden tab, where the timer goes on.
    const done = once(() => this.now());
    requestAnimationFrame(done);
    setTimeout(done, 250);
  }

  now(): void {
    this.planned = false;
    if (this.waiting.length === 0) return;
    const events = this.waiting;
    this.waiting = [];
    this.flush(events);
  }
}

function once(act: () => void): () => void {
  let acted = false;
  return () => {
    if (acted) return;
    acted = true;
    act();
  };
}
