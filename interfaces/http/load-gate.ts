import type { HeldMemory } from '../../application/model-request.ts';

/** What one request holds of the process; given back when it ends, but for memory that is kept for longer. */
export interface Lease extends HeldMemory {
  readonly release: () => void;
}

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
      let keepers = 1;
      const letGo = (): void => {
        keepers -= 1;
        if (keepers > 0) return;
        buffered -= held;
        held = 0;
      };
      return {
        hold: (bytes) => {
          if (buffered + bytes > limits.maxBufferedBytes) return false;
          buffered += bytes;
          held += bytes;
          return true;
        },
        holdUnfinished: (bytes) => {
          if (keepers === 0) return true;
          const more = bytes - unfinished;
          if (more > 0 && buffered + more > limits.maxBufferedBytes) return false;
          buffered += more;
          held += more;
          unfinished = bytes;
          return true;
        },
        heldBytes: () => held,
        keep: () => {
          keepers += 1;
          return once(letGo);
        },
        release: once(() => {
          inFlight -= 1;
          letGo();
        }),
      };
    },
  };
}

function once(work: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    work();
  };
}

export type LoadGate = ReturnType<typeof loadGate>;
