import { isFilled, isObject, isString, type Json, type JsonObject, numberOf } from '../shared/json.ts';
import type { StreamChunk } from '../shared/stream-event.ts';
import { reasoningFields } from './reasoning-fields.ts';

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
   * upstreams tell one choice after the other, and some give each piece of one a finish reason: then it goes on all the
   * same.
   */
  see(choices: readonly JsonObject[]): Pick<StreamChunk<JsonObject>, 'terminal' | 'reopens'> {
    const wasComplete = this.isComplete();
    let finishes = false;
    let goesOn = false;
    for (const choice of choices) {
      const index = numberOf(choice['index']) ?? 0;
      const finish = choice['finish_reason'];
      const ends = isString(finish) && finish !== '';
      // What has finished is under way again, if it says more.
      if (this.closed.has(index) && says(choice['delta'])) goesOn = this.closed.delete(index);
      this.place(index, ends);
      finishes ||= ends;
    }
    this.finished ||= finishes;
    const complete = this.isComplete();
    const reopens = wasComplete && (goesOn || !complete);
    return { terminal: finishes && complete, ...(reopens ? { reopens: true } : {}) };
  }

  private isComplete(): boolean {
    return this.finished && this.open.size === 0;
  }

  /** What has finished stays so: usage may follow in a choice that says no more. */
  private place(index: number, ends: boolean): void {
    if (this.closed.has(index)) return;
    this.open.delete(index);
    if (this.open.size + this.closed.size >= maxChoices) return;
    (ends ? this.closed : this.open).add(index);
  }
}

/** What an answer consists of; usage and what is told of the answer may come with other fields. */
const spoken = ['content', 'refusal', ...reasoningFields, 'tool_calls'] as const;

const says = (delta: Json | undefined): boolean =>
  isObject(delta) && spoken.some((field) => isFilled(delta[field]));
