import { executionAsyncResource } from 'node:async_hooks';

const kept: unknown[] = [];

/**
 * Keeps one of the objects in which Node notes what `process.nextTick` shall call. V8 14 (Node 26.10) forgets what they
 * look like when a full collection finds none of them; from then on each is made by a call into its runtime, which takes
 * four to eight times as long, and every piece that a socket reads or writes makes one or two.
 */
export function keepNextTickFast(): void {
  process.nextTick(() => kept.push(executionAsyncResource()));
}
