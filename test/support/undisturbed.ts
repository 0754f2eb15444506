import { performance } from 'node:perf_hooks';

const lookMs = 20;
/** The event loop is late by this much only if the machine pauses, or if the loop is blocked. */
const pauseMs = 100;

export interface Timed<A> {
  readonly value: A;
  readonly allMs: number;
  /** The time without the pauses of the machine, for comparison with a limit. */
  readonly ms: number;
  readonly longestPauseMs: number;
}

/** Does some work, and returns its time; the work can ask for the time so far. */
export async function timed<A>(work: (soFarMs: () => number) => A | Promise<A>): Promise<Timed<A>> {
  const beganAt = performance.now();
  let seenAt = beganAt;
  let pausedMs = 0;
  let longestPauseMs = 0;
  const look = (): void => {
    const now = performance.now();
    const lateMs = now - seenAt - lookMs;
    seenAt = now;
    if (lateMs > pauseMs) pausedMs += lateMs;
    longestPauseMs = Math.max(longestPauseMs, lateMs);
  };
  const soFarMs = (): number => {
    look();
    return seenAt - beganAt - pausedMs;
  };
  const watch = setInterval(look, lookMs);
  try {
    const value = await work(soFarMs);
    const ms = soFarMs();
    return { value, allMs: ms + pausedMs, ms, longestPauseMs };
  } finally {
    clearInterval(watch);
  }
}

/** Repeats an attempt that fails while the machine pauses for so long, since the pause may be the cause. */
export async function undisturbed<A>(longestMs: number, attempt: () => Promise<A>): Promise<A> {
  for (let attempts = 1; ; attempts += 1) {
    const { value: tried, longestPauseMs } = await timed(() =>
      attempt().then(
        (value) => ({ value }),
        (error: unknown) => ({ error }),
      ),
    );
    if ('value' in tried) return tried.value;
    if (longestPauseMs <= longestMs || attempts === 10) throw tried.error;
  }
}

/** Repeats the attempt until it takes less than this time, so that what it observed is recent. */
export async function promptly<A>(withinMs: number, attempt: () => Promise<A>): Promise<A> {
  for (let attempts = 1; ; attempts += 1) {
    const beganAt = performance.now();
    const value = await attempt();
    if (performance.now() - beganAt < withinMs || attempts === 10) return value;
  }
}
