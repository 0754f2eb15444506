import type { GatewayError } from '../../domain/shared/gateway-error.ts';

/** What one request holds of the process; given back when it ends. */
export interface Lease {
  /** Holds so many bytes more; false when the process holds as much as it may. */
  readonly hold: (bytes: number) => boolean;
  /** The same for an event that is not complete yet: so many bytes of it now, in place of those before. */
  readonly holdUnfinished: (bytes: number) => boolean;
  readonly release: () => void;
}

export const overloaded: GatewayError = {
  code: 'overloaded',
  message: 'The gateway is handling as much as it can hold; try again.',
  retryAfterSecs: 1,
};

/** `server.max_in_flight` requests and `server.max_buffered_bytes` bytes; over either: 503 `overloaded`. */
export function loadGate(limits: { readonly maxInFlight: number; readonly maxBufferedBytes: number }) {
  let inFlight = 0;
  let buffered = 0;
  return {
    inFlight: (): number => inFlight,
    enter: (): Lease | undefined => {
      if (inFlight >= limits.maxInFlight) return undefined;
      inFlight += 1;
      let held = 0;
      let unfinished = 0;
      let released = false;
      return {
        hold: (bytes) => {
          if (buffered + bytes > limits.maxBufferedBytes) return false;
          buffered += bytes;
          held += bytes;
          return true;
        },
        holdUnfinished: (bytes) => {
          if (released) return true;
          const more = bytes - unfinished;
          if (more > 0 && buffered + more > limits.maxBufferedBytes) return false;
          buffered += more;
          held += more;
          unfinished = bytes;
          return true;
        },
        release: () => {
          if (released) return;
          released = true;
          inFlight -= 1;
          buffered -= held;
        },
      };
    },
  };
}

export type LoadGate = ReturnType<typeof loadGate>;
