import { LiveList } from '../../domain/shared/live-list.ts';

/** One stream that is kept alive. */
export interface KeptAliveStream {
  /** Call when something was sent. */
  readonly touch: () => void;
  readonly over: () => void;
}

export interface KeepAlive {
  /** Calls back whenever nothing was sent for the period, until `over` is called. */
  readonly watch: (silent: () => void) => KeptAliveStream;
}

interface Watched {
  /** From `performance.now()`, because the wall clock may be set meanwhile (rule 38.11). */
  sentAt: number;
  readonly silent: () => void;
}

/** How often streams are checked. Periods are whole seconds, so a quarter of one is precise enough. */
const lookMs = 250;

/**
 * `server.stream_keepalive_secs`: proxies close streams that are silent for a minute or so, while a model thinks. One
 * timer serves all streams, and stops when there are none. 0 seconds turns it off.
 */
export function streamKeepAlive(seconds: () => number): KeepAlive {
  const streams = new LiveList<Watched>();
  let timer: NodeJS.Timeout | undefined;
  const look = (): void => {
    const now = performance.now();
    const periodMs = seconds() * 1000;
    for (const stream of streams.values()) {
      if (periodMs === 0 || now - stream.sentAt < periodMs) continue;
      stream.sentAt = now;
      stream.silent();
    }
  };
  return {
    watch: (silent) => {
      if (seconds() === 0) return unwatched;
      const stream: Watched = { sentAt: performance.now(), silent };
      const leave = streams.add(stream);
      timer ??= setInterval(look, lookMs).unref();
      return {
        touch: () => {
          stream.sentAt = performance.now();
        },
        over: () => {
          leave();
          if (streams.size > 0) return;
          clearInterval(timer);
          timer = undefined;
        },
      };
    },
  };
}

const unwatched: KeptAliveStream = { touch: () => undefined, over: () => undefined };
