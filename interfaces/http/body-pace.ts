import type { ServerResponse } from 'node:http';
import { type GatewayError, invalidRequest } from '../../domain/shared/gateway-error.ts';
import { LiveList } from '../../domain/shared/live-list.ts';

/** A body that is arriving. */
export interface Arriving {
  readonly received: (bytes: number) => void;
  readonly over: () => void;
}

/** Watches a body while it arrives, and calls `stop` when it is not to be waited for any longer. */
export type Arrivals = (stop: (why: GatewayError) => void) => Arriving;

export interface Pace {
  /** How long a body may take in any case. */
  readonly firstMs: number;
  /** Each so many bytes more give it a second more; `Infinity`: nothing does. */
  readonly bytesPerSec: number;
  /** How often bodies are looked at. */
  readonly lookMs: number;
}

/** A body has 10 s; after them it must arrive at 16 KiB/s, which any line does that an API is called over. */
const requestPace: Pace = { firstMs: 10_000, bytesPerSec: 16 * 1024, lookMs: 500 };

const tooSlow: GatewayError = invalidRequest('The request body arrived too slowly.', 'body');

interface Watched {
  /** When it is not waited for any longer, unless more of it comes. */
  until: number;
  /** What has come since the last look. */
  unseen: number;
  readonly stop: (why: GatewayError) => void;
}

/**
 * Ends bodies that arrive too slowly. What comes gives time, but never more than `firstMs` ahead: nothing is saved up
 * for a long silence. One timer for all bodies, which stands still when there are none.
 */
export function bodyPace({ firstMs, bytesPerSec, lookMs }: Pace = requestPace): Arrivals {
  const bodies = new LiveList<Watched>();
  let timer: NodeJS.Timeout | undefined;
  let lookedAt = 0;

  const look = (): void => {
    const now = performance.now();
    // While this process stood still nothing could be read: that is not the callers' slowness.
    const stoodStillMs = Math.max(0, now - lookedAt - lookMs);
    lookedAt = now;
    if (bodies.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
    for (const body of bodies.values()) {
      const given = stoodStillMs + (body.unseen * 1000) / bytesPerSec;
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
      over,
    };
  };
}

/** A caller that is too slow gets an error, and the connection is closed. */
export const hangingUp =
  ({ res }: { readonly res: ServerResponse }, arrivals: Arrivals): Arrivals =>
  (stop) =>
    arrivals((why) => {
      if (!res.headersSent) res.setHeader('connection', 'close');
      stop(why);
    });
