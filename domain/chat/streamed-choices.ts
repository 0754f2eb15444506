import { isString, type JsonObject, numberOf } from '../shared/json.ts';
import type { StreamChunk } from '../shared/stream-event.ts';

/** Choices of one answer that are told apart: what a chat request may ask for. */
const maxChoices = 128;

/** The choices of a streamed answer, by index: those that are under way, and those that have finished. */
export class StreamedChoices {
  /** A choice has finished: the stream may end. */
  finished = false;
  private readonly open = new Set<number>();
  private readonly closed = new Set<number>();

  /**
   * What a chunk with these choices says of the answer. It is complete when no choice that was seen is under way; some
   * upstreams tell one choice after the other, and then it goes on all the same.
   */
  see(choices: readonly JsonObject[]): Pick<StreamChunk<JsonObject>, 'terminal' | 'reopens'> {
    const wasComplete = this.isComplete();
    let finishes = false;
    for (const choice of choices) {
      const finish = choice['finish_reason'];
      const ends = isString(finish) && finish !== '';
      this.place(numberOf(choice['index']) ?? 0, ends);
      finishes ||= ends;
    }
    this.finished ||= finishes;
    const complete = this.isComplete();
    return { terminal: finishes && complete, ...(wasComplete && !complete ? { reopens: true } : {}) };
  }

  private isComplete(): boolean {
    return this.finished && this.open.size === 0;
  }

  /** What has finished stays so: usage may follow in a choice that says no more. */
  private place(index: number, ends: boolean): void {
    if (this.closed.has(index)) return;
    const isNew = !this.open.delete(index);
    if (isNew && this.open.size + this.closed.size >= maxChoices) return;
    (ends ? this.closed : this.open).add(index);
  }
}
