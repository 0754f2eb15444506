// Shared by the benches that call stores and routes without a server.
import * as E from 'fp-ts/lib/Either.js';
import type { AdminRoute } from '../interfaces/http/admin/admin-route.ts';
import { serialisedData } from '../interfaces/http/json-text.ts';
import { percentile } from './load.ts';

/** In milliseconds. */
export interface Took {
  readonly p50: number;
  readonly p95: number;
}

/** The times of the quietest of these rounds, so that other work on the machine is not measured. */
export async function quietest(rounds: number, runs: number, ask: () => Promise<unknown>): Promise<Took> {
  let best = { p50: Number.POSITIVE_INFINITY, p95: Number.POSITIVE_INFINITY };
  for (let round = 0; round < rounds; round += 1) {
    const times: number[] = [];
    for (let run = 0; run < runs; run += 1) {
      const began = performance.now();
      await ask();
      times.push(performance.now() - began);
    }
    const p95 = percentile(times, 0.95);
    if (p95 < best.p95) best = { p50: percentile(times, 0.5), p95 };
  }
  return best;
}

/** The answer to a call of the admin API, from its query to its JSON text. */
export async function answerOf(routes: readonly AdminRoute[], path: string, query: string): Promise<string> {
  const route = routes.find((each) => each.method === 'GET' && each.path === path);
  if (route === undefined) throw new Error(`there is no ${path}`);
  const body = await route.handle({
    admin: { userId: '', email: '', address: '' },
    params: {},
    query: new URLSearchParams(query),
    body: undefined,
    ifMatch: undefined,
  });
  if (E.isLeft(body)) throw new Error(`${path}?${query}: ${body.left.message}`);
  return serialisedData({ data: body.right });
}
