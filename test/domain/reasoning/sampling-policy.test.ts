import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import * as fc from 'fast-check';
import { modelTiers } from '../../../domain/reasoning/model-tier.ts';
import { omittedSampling } from '../../../domain/reasoning/sampling-policy.ts';
import { type JsonObject, parseExact } from '../../../domain/shared/json.ts';

describe('for latest models, temperature 1 and top_p 1 are omitted, and other sampling values are rejected', () => {
  it.each<[string, JsonObject, readonly string[]]>([
    ['no sampling fields', {}, []],
    ['null', { temperature: null, top_p: null, top_k: null }, []],
    ['temperature 1', { temperature: 1 }, ['temperature']],
    ['top_p 1', { top_p: 1 }, ['top_p']],
    [
      'both, written with a fraction',
      parseExact('{"temperature":1.0,"top_p":1.00}') as JsonObject,
      ['temperature', 'top_p'],
    ],
  ])('%s', (_, body, omitted) => {
    expect(omittedSampling('latest', body)).toEqual(E.right(omitted));
  });

  it.each<[string, string, JsonObject]>([
    ['temperature', 'leave it out or send 1', { temperature: 0 }],
    ['temperature', 'leave it out or send 1', { temperature: 0.7, top_p: 1 }],
    ['temperature', 'leave it out or send 1', { temperature: '1' }],
    ['temperature', 'leave it out or send 1', { temperature: 0, top_p: 0.5, top_k: 40 }],
    ['top_p', 'leave it out or send 1', { temperature: 1, top_p: 0.95 }],
    ['top_k', 'leave it out', { top_k: 40 }],
    ['top_k', 'leave it out', { top_k: 1 }],
    ['top_k', 'leave it out', { top_k: 0 }],
    ['top_k', 'leave it out', { top_k: '40' }],
  ])('%s is rejected by name: %s', (field, fix, body) => {
    expect(omittedSampling('latest', body)).toMatchObject({
      left: { code: 'invalid_request', param: field, message: expect.stringMatching(`: ${fix}\\.$`) },
    });
  });

  it('other tiers keep them unchanged', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...modelTiers.filter((tier) => tier !== 'latest')),
        fc.record({ temperature: fc.double(), top_p: fc.double(), top_k: fc.nat() }, { requiredKeys: [] }),
        (tier, body) => {
          expect(omittedSampling(tier, body)).toEqual(E.right([]));
        },
      ),
    );
  });
});
