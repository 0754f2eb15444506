import { isFilled, isObject, isString, type Json, type JsonObject, numberOf } from '../shared/json.ts';
import { maxChoices } from '../shared/limits.ts';
import type { StreamChunk } from '../shared/stream-event.ts';
import { MarkedThoughts } from './marked-thoughts.ts';
import { reasoningFields } from '../reasoning/reasoning-fields.ts';

/** The choices of a streamed answer, by index: which are open, and which have finished. */
export class StreamedChoices {
  /** Some choice has finished, so the stream may end. */
  finished = false;
  readonly thoughts = new MarkedThoughts();
  private readonly open = new Set<number>();
  private readonly closed = new Set<number>();

  /**
   * What a chunk with these choices says about the answer. The answer is complete when no choice seen so far is open.
   * Some upstreams send one choice after the other, and some put a finish reason on each piece of a choice; an answer
   * that looked complete then continues.
   */
  see(choices: readonly JsonObject[]): Pick<StreamChunk<JsonObject>, 'terminal' | 'reopens'> {
    const wasComplete = this.isComplete();
    let finishes = false;
    let goesOn = false;
    for (const choice of choices) {
      const index = numberOf(choice['index']) ?? 0;
      const finish = choice['finish_reason'];
      const ends = isString(finish) && finish !== '';
      // A finished choice that says more is open again.
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

  /** A finished choice stays finished here: a piece that says nothing more may still carry usage. */
  private place(index: number, ends: boolean): void {
    if (this.closed.has(index)) return;
    this.open.delete(index);
    if (this.open.size + this.closed.size >= maxChoices) return;
    (ends ? this.closed : this.open).add(index);
  }
}

/** The fields with an answer's content. Usage and metadata may come in other fields. */
const contentFields = ['content', 'refusal', ...reasoningFields, 'tool_calls'] as const;

const says = (delta: Json | undefined): boolean =>
  isObject(delta) && contentFields.some((field) => isFilled(delta[field]));
