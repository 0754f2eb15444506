import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type CallOrigin, isCrossOrigin } from '../../../domain/identity/cross-origin.ts';

const own = 'https://gateway.example.com';
const methods = ['POST', 'PUT', 'PATCH', 'DELETE'] as const;
const aCall = (over: Partial<CallOrigin>): CallOrigin => ({
  method: 'POST',
  secFetchSite: undefined,
  origin: undefined,
  hasCookie: true,
  ...over,
});
const anOrigin = fc.constantFrom(own, 'https://evil.example', 'http://gateway.example.com', 'null', '');
const aSite = fc.constantFrom('same-origin', 'same-site', 'cross-site', 'none', 'SAME-ORIGIN', '');
const anyCall = fc.record({
  method: fc.constantFrom(...methods),
  secFetchSite: fc.option(aSite, { nil: undefined }),
  origin: fc.option(anOrigin, { nil: undefined }),
  hasCookie: fc.boolean(),
});

describe('state-changing calls', () => {
  it('Sec-Fetch-Site, if sent, is same-origin, whatever else is sent', () => {
    fc.assert(
      fc.property(anyCall, aSite, (call, secFetchSite) => {
        expect(isCrossOrigin({ ...call, secFetchSite }, own)).toBe(secFetchSite !== 'same-origin');
      }),
    );
  });

  it('else Origin, if sent, equals the own one, with a cookie or without', () => {
    fc.assert(
      fc.property(anyCall, anOrigin, (call, origin) => {
        expect(isCrossOrigin({ ...call, secFetchSite: undefined, origin }, own)).toBe(origin !== own);
      }),
    );
  });

  it('neither: allowed only without a cookie', () => {
    for (const method of methods) {
      expect(isCrossOrigin(aCall({ method, hasCookie: true }), own)).toBe(true);
      expect(isCrossOrigin(aCall({ method, hasCookie: false }), own)).toBe(false);
    }
  });

  it('an origin is never the own one when nobody knows which that is', () => {
    expect(isCrossOrigin(aCall({ origin: own }), undefined)).toBe(true);
  });

  it('those that change nothing may come from anywhere', () => {
    fc.assert(
      fc.property(anyCall, fc.constantFrom('GET', 'HEAD', 'OPTIONS'), (call, method) => {
        expect(isCrossOrigin({ ...call, method }, own)).toBe(false);
      }),
    );
  });
});
