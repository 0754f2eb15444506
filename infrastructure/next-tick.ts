import { executionAsyncResource } from 'node:async_hooks';

const kept: unknown[] = [];

/**
 * Keeps alive one of the objects in which Node records a callback of `process.nextTick`. V8 14 (Node 26.10) loses their
 * shape when a full collection finds none of them. From then on each is created by a call into the runtime, which takes
 * four to eight times as long, and every chunk that a socket reads or writes creates one or two.
 */
export function keepNextTickFast(): void {
  process.nextTick(() => kept.push(executionAsyncResource()));
}
