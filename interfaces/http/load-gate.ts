import type { GatewayError } from '../../domain/shared/gateway-error.ts';

/** What one request holds of the process; given back when it ends. */
export interface Lease {
  /** Says whose request it is; false when that owner has as many in flight as one owner may. */
  readonly belongsTo: (owner: string) => boolean;
  /** Holds so many bytes more; false when the process, or the owner, holds as much as it may. */
  readonly hold: (bytes: number) => boolean;
  readonly release: () => void;
}

export interface LoadLimits {
  readonly maxInFlight: number;
  readonly maxInFlightPerOwner: number;
  readonly maxBufferedBytes: number;
}

export const overloaded: GatewayError = {
  code: 'overloaded',
  message: 'The gateway is handling as much as it can hold; try again.',
  retryAfterSecs: 1,
};

export const tooManyRequests: GatewayError = {
  code: 'too_many_requests',
  message: 'As many requests as one owner may have at once are in flight; try again.',
  retryAfterSecs: 1,
};

/** What all requests of one owner hold together. */
interface Held {
  requests: number;
  bytes: number;
}

/**
 * `server.max_in_flight` requests and `server.max_buffered_bytes` bytes. One owner has its share of the requests
 * (`server.max_in_flight_per_owner`), and of the bytes the last ones, as many as the same share of them, are not for
 * an owner that holds more than its share in several requests: nobody takes the room of all others, and yet one large
 * body always fits.
 */
export function loadGate({ maxInFlight, maxInFlightPerOwner, maxBufferedBytes }: LoadLimits) {
  const bytesPerOwner = maxBufferedBytes * Math.min(1, maxInFlightPerOwner / maxInFlight);
  const bytesForAll = maxBufferedBytes - bytesPerOwner;
  const owners = new Map<string, Held>();
  let inFlight = 0;
  let buffered = 0;

  const lease = (): Lease => {
    let held = 0;
    let owner: { readonly key: string; readonly held: Held } | undefined;
    let released = false;
    return {
      belongsTo: (key) => {
        const known = owners.get(key) ?? { requests: 0, bytes: 0 };
        if (known.requests >= maxInFlightPerOwner) return false;
        known.requests += 1;
        known.bytes += held;
        owners.set(key, known);
        owner = { key, held: known };
        return true;
      },
      hold: (bytes) => {
        if (buffered + bytes > maxBufferedBytes) return false;
        if (owner !== undefined) {
          const { held: all } = owner;
          const overShare = all.bytes > held && all.bytes + bytes > bytesPerOwner;
          if (overShare && buffered + bytes > bytesForAll) return false;
          all.bytes += bytes;
        }
        buffered += bytes;
        held += bytes;
        return true;
      },
      release: () => {
        if (released) return;
        released = true;
        inFlight -= 1;
        buffered -= held;
        if (owner === undefined) return;
        owner.held.requests -= 1;
        owner.held.bytes -= held;
        if (owner.held.requests === 0) owners.delete(owner.key);
      },
    };
  };

  return {
    inFlight: (): number => inFlight,
    enter: (): Lease | undefined => {
      if (inFlight >= maxInFlight) return undefined;
      inFlight += 1;
      return lease();
    },
  };
}

export type LoadGate = ReturnType<typeof loadGate>;
