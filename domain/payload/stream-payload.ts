import type { JsonObject } from '../shared/json.ts';
import { bufferedCharsPerStoredByte, maxInlineChars } from '../shared/limits.ts';
import { withoutBulk } from './truncate.ts';
import { wrappable } from './wrap.ts';
import { Members, printed } from '../text/written.ts';

/** How much of a stream is stored. */
export interface StreamLimits {
  readonly streamMaxEvents: number;
  readonly responseMaxBytes: number;
}

/** The first events of a stream. */
export interface CapturedEvents {
  /** JSON texts. */
  readonly events: readonly string[];
  /** Something was left out: later events, or bulky fields of the events that are here. */
  readonly truncated: boolean;
  /** Later events are missing. */
  readonly isCut: boolean;
}

/** An event as it is sent to the caller. */
export interface SeenEvent {
  readonly chunk: JsonObject;
  /** The JSON text that came in, when no rule touched the chunk. */
  readonly text?: string | undefined;
}

/**
 * Buffers the first events of a stream until it is settled. It is shown every event, but stores only so many
 * (`stream_max_events`, and a bound on their size). Bulky fields are truncated at once, so the buffer for a stream of
 * images contains no images.
 */
export class StreamPayload {
  private readonly events: string[] = [];
  private readonly maxEvents: number;
  private roomChars: number;
  private truncated = false;
  private isCut = false;

  constructor({ streamMaxEvents, responseMaxBytes }: StreamLimits) {
    this.maxEvents = streamMaxEvents;
    this.roomChars = responseMaxBytes * bufferedCharsPerStoredByte;
  }

  see({ chunk, text }: SeenEvent): void {
    this.isCut ||= this.events.length >= this.maxEvents;
    if (this.isCut) return;
    const slim = this.slim(text ?? JSON.stringify(chunk));
    this.roomChars -= slim.length;
    if (this.roomChars < 0) this.isCut = true;
    else this.events.push(slim);
  }

  held(): CapturedEvents {
    return { events: this.events, truncated: this.truncated || this.isCut, isCut: this.isCut };
  }

  private slim(text: string): string {
    if (text.length <= maxInlineChars) return text;
    const { value, truncated } = wrappable(text, true, 'events');
    const slim = value instanceof Members ? withoutBulk(value) : value;
    this.truncated ||= truncated || slim !== value;
    return slim === value && !truncated ? text : printed(slim, 'as it came');
  }
}
