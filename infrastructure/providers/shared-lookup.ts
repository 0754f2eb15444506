import { lookup, type LookupOptions } from 'node:dns';
import type { LookupFunction } from 'node:net';

type Found = Parameters<LookupFunction>[2];
type Resolve = (hostname: string, options: LookupOptions, found: Found) => void;

/**
 * Looks a name up once for all who wait for it, and anew for whoever comes after: nothing is kept. The operating system
 * takes a thread for each lookup, of which there are few, and a name that is slow to resolve would take them all: then
 * no other name is resolved in time.
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
