import type { Json, JsonObject } from '../shared/json.ts';
import { heldEventBytesPerStored } from '../shared/limits.ts';
import { leastChars } from './printed-size.ts';
import { withoutBulk } from './truncate.ts';
import { holdable } from './wrap.ts';

/** How much of a stream is stored. */
export interface StreamLimits {
  readonly streamMaxEvents: number;
  readonly responseMaxBytes: number;
}

/** The first events of a stream, and whether there were more. */
export interface HeldEvents {
  readonly events: readonly Json[];
  readonly truncated: boolean;
}

/**
 * Holds the first events of a stream until it is settled. Only stored events are capped (`stream_max_events`, and a
 * bound in bytes): it is shown every one. Bulky fields are cut off at once, so that a stream of images holds no images.
 */
export class StreamPayload {
  private readonly events: JsonObject[] = [];
  private readonly maxEvents: number;
  private roomBytes: number;
  private truncated = false;
  private full = false;

  constructor({ streamMaxEvents, responseMaxBytes }: StreamLimits) {
    this.maxEvents = streamMaxEvents;
    this.roomBytes = responseMaxBytes * heldEventBytesPerStored;
  }

  see(event: JsonObject): void {
    if (this.full || this.events.length >= this.maxEvents) {
      this.truncated = true;
      return;
    }
    const { value, truncated } = holdable(event);
    const slim = withoutBulk(value);
    this.truncated ||= truncated || slim !== value;
    this.roomBytes -= leastChars(slim, this.roomBytes);
    this.full = this.roomBytes < 0;
    if (this.full) this.truncated = true;
    else this.events.push(slim);
  }

  held(): HeldEvents {
    return { events: this.events, truncated: this.truncated };
  }
}
