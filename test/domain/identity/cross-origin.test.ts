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

describe('the cross-origin check of calls', () => {
  it('rejects any Sec-Fetch-Site but same-origin, regardless of other headers', () => {
    fc.assert(
      fc.property(anyCall, aSite, (call, secFetchSite) => {
        expect(isCrossOrigin({ ...call, secFetchSite }, own)).toBe(secFetchSite !== 'same-origin');
      }),
    );
  });

  it('without Sec-Fetch-Site rejects any foreign Origin, with or without a cookie', () => {
    fc.assert(
      fc.property(anyCall, anOrigin, (call, origin) => {
        expect(isCrossOrigin({ ...call, secFetchSite: undefined, origin }, own)).toBe(origin !== own);
      }),
    );
  });

  it('without both headers allows a call only without a cookie', () => {
    for (const method of methods) {
      expect(isCrossOrigin(aCall({ method, hasCookie: true }), own)).toBe(true);
      expect(isCrossOrigin(aCall({ method, hasCookie: false }), own)).toBe(false);
    }
  });

  it('rejects every Origin if the own origin is unknown', () => {
    expect(isCrossOrigin(aCall({ origin: own }), undefined)).toBe(true);
  });

  it('allows GET, HEAD and OPTIONS from any origin', () => {
    fc.assert(
      fc.property(anyCall, fc.constantFrom('GET', 'HEAD', 'OPTIONS'), (call, method) => {
        expect(isCrossOrigin({ ...call, method }, own)).toBe(false);
      }),
    );
  });
});
