import { lookup, type LookupOptions } from 'node:dns';
import type { LookupFunction } from 'node:net';

type Found = Parameters<LookupFunction>[2];
type Resolve = (hostname: string, options: LookupOptions, found: Found) => void;

/**
 * Shares one DNS lookup among all connections that wait for the same name. Nothing is cached: a later connection starts
 * a new lookup. Each lookup occupies a thread of Node's small thread pool, so a name that is slow to resolve would
 * otherwise occupy all of them, and no other name would be resolved in time.
 */
export function sharedLookup(resolve: Resolve = lookup): LookupFunction {
  const underWay = new Map<string, Found[]>();
  return (hostname, options, found) => {
    const asked = JSON.stringify([hostname, options.family, options.hints, options.all, options.order]);
    const waiting = underWay.get(asked);
    if (waiting !== undefined) return void waiting.push(found);
    const all = [found];
    underWay.set(asked, all);
    resolve(hostname, options, (...answer) => {
      underWay.delete(asked);
      for (const each of all) each(...answer);
    });
  };
}
