import type { ServerResponse } from 'node:http';
import { type GatewayError, invalidRequest } from '../../domain/shared/gateway-error.ts';
import { LiveList } from '../../domain/shared/live-list.ts';

/** A body that is being received. */
export interface BodyInProgress {
  readonly received: (bytes: number) => void;
  /** Whether the gateway itself reads nothing of the body for now: that time does not count (rule 33.50). */
  readonly paused: (isPaused: boolean) => void;
  readonly over: () => void;
}

/** Watches a body while it arrives, and calls `stop` when the gateway should no longer wait for it. */
export type Arrivals = (stop: (why: GatewayError) => void) => BodyInProgress;

export interface Pace {
  /** How long a body may take, whatever its speed. */
  readonly firstMs: number;
  /** Each time this many bytes arrive, the body gets one more second. `Infinity`: it never gets more. */
  readonly bytesPerSec: number;
  /** How often bodies are checked. */
  readonly lookMs: number;
}

/** A body has 10 s; after that it must arrive at 16 KiB/s, which any line that can reach an API manages. */
const requestPace: Pace = { firstMs: 10_000, bytesPerSec: 16 * 1024, lookMs: 500 };

const tooSlow: GatewayError = invalidRequest('The request body arrived too slowly.', 'body');

interface Watched {
  /** The deadline, unless more of the body arrives. */
  until: number;
  /** Bytes that arrived since the last check. */
  unseen: number;
  isPaused: boolean;
  readonly stop: (why: GatewayError) => void;
}

/**
 * Ends bodies that arrive too slowly. Arriving bytes extend the deadline, but never to more than `firstMs` from now, so
 * a fast start cannot pay for a long silence. One timer serves all bodies, and stops when there are none.
 */
export function bodyPace({ firstMs, bytesPerSec, lookMs }: Pace = requestPace): Arrivals {
  const bodies = new LiveList<Watched>();
  let timer: NodeJS.Timeout | undefined;
  let lookedAt = 0;

  const look = (): void => {
    const now = performance.now();
    // While this process was stalled nothing could be read. That time does not count as the callers' slowness.
    const passedMs = now - lookedAt;
    const stoodStillMs = Math.max(0, passedMs - lookMs);
    lookedAt = now;
    if (bodies.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
    for (const body of bodies.values()) {
      const given = (body.isPaused ? passedMs : stoodStillMs) + (body.unseen * 1000) / bytesPerSec;
      body.until = Math.min(now + firstMs, body.until + given);
      body.unseen = 0;
      if (now < body.until) continue;
      body.stop(tooSlow);
    }
  };

  return (stop) => {
    const now = performance.now();
    if (timer === undefined) {
      lookedAt = now;
      timer = setInterval(look, lookMs).unref();
    }
    const body: Watched = {
      until: now + firstMs,
      unseen: 0,
      isPaused: false,
      stop: (why) => {
        over();
        stop(why);
      },
    };
    const over = bodies.add(body);
    return {
      received: (bytes) => {
        body.unseen += bytes;
      },
      paused: (isPaused) => {
        body.isPaused = isPaused;
      },
      over,
    };
  };
}

/** A caller that is too slow gets an error, and its connection is closed. */
export const closingWhenTooSlow =
  ({ res }: { readonly res: ServerResponse }, arrivals: Arrivals): Arrivals =>
  (stop) =>
    arrivals((why) => {
      if (!res.headersSent) res.setHeader('connection', 'close');
      stop(why);
    });
