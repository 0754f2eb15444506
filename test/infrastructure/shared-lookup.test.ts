import type { LookupAddress, LookupOptions } from 'node:dns';
import { describe, expect, it } from '@jest/globals';
import { sharedLookup } from '../../infrastructure/providers/shared-lookup.ts';

type Answer = (error: NodeJS.ErrnoException | null, address: LookupAddress[]) => void;

/** A lookup whose answers the test provides. */
function lookups() {
  const asked: { readonly name: string; readonly answer: Answer }[] = [];
  const lookup = sharedLookup((name, _, answer) => void asked.push({ name, answer }));
  const find = (name: string, options: LookupOptions = { all: true }) =>
    new Promise<unknown>((resolve) => lookup(name, options, (error, found) => resolve(error ?? found)));
  return { asked, find, names: () => asked.map(({ name }) => name) };
}

const found: LookupAddress[] = [{ address: '192.0.2.1', family: 4 }];

describe('a host name that several connections need', () => {
  it('is looked up once for all connections that wait for it, and again for later ones', async () => {
    const { asked, find, names } = lookups();
    const waiting = Array.from({ length: 20 }, () => find('slow.example'));
    expect(names()).toEqual(['slow.example']);
    asked[0]?.answer(null, found);
    expect(await Promise.all(waiting)).toEqual(waiting.map(() => found));
    const later = find('slow.example');
    expect(names()).toEqual(['slow.example', 'slow.example']);
    asked[1]?.answer(null, []);
    expect(await later).toEqual([]);
  });

  it('fails for all connections that wait for it, and the failure is not cached', async () => {
    const { asked, find, names } = lookups();
    const waiting = [find('gone.example'), find('gone.example')];
    const error = Object.assign(new Error('gone'), { code: 'ENOTFOUND' });
    asked[0]?.answer(error, []);
    expect(await Promise.all(waiting)).toEqual([error, error]);
    void find('gone.example');
    expect(names()).toHaveLength(2);
  });

  it('delays neither other names nor the same name with other options', () => {
    const { find, names } = lookups();
    void find('slow.example');
    void find('quick.example');
    void find('slow.example', { all: true, family: 6 });
    expect(names()).toEqual(['slow.example', 'quick.example', 'slow.example']);
  });
});
