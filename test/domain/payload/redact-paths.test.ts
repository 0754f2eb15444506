import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { redactionRules } from '../../../domain/payload/redact.ts';
import type { Json, JsonObject } from '../../../domain/shared/json.ts';
import { aCanary, canaryLetter, holding } from '../../support/arbitraries/payloads.ts';
import { expectNoCanary, marker, redacted } from './redacting.ts';

describe('admin `redaction_paths`', () => {
  const payload: JsonObject = {
    headers: { 'x-a': '1', 'x-b': '2' },
    body: {
      metadata: { user: 'u', nested: { a: 1 } },
      messages: [
        { role: 'user', name: 'n', content: [{ type: 'text', text: 't' }] },
        { role: 'tool', name: 'm', content: 'c' },
      ],
      matrix: [[{ a: 1 }], [{ a: 2 }]],
    },
  };

  it.each<[string, readonly (string | number)[][]]>([
    ['body.metadata.user', [['body', 'metadata', 'user']]],
    [
      'body.metadata.*',
      [
        ['body', 'metadata', 'user'],
        ['body', 'metadata', 'nested'],
      ],
    ],
    ['body.metadata', [['body', 'metadata']]],
    ['body.*.user', [['body', 'metadata', 'user']]],
    ['*.x-a', [['headers', 'x-a']]],
    [
      'headers.*',
      [
        ['headers', 'x-a'],
        ['headers', 'x-b'],
      ],
    ],
    ['*', [['headers'], ['body']]],
    [
      'body.messages.*.name',
      [
        ['body', 'messages', 0, 'name'],
        ['body', 'messages', 1, 'name'],
      ],
    ],
    [
      'body.messages.*',
      [
        ['body', 'messages', 0],
        ['body', 'messages', 1],
      ],
    ],
    ['body.messages.*.content.*.text', [['body', 'messages', 0, 'content', 0, 'text']]],
    [
      'body.messages.name',
      [
        ['body', 'messages', 0, 'name'],
        ['body', 'messages', 1, 'name'],
      ],
    ],
    [
      'body.matrix.*.*.a',
      [
        ['body', 'matrix', 0, 0, 'a'],
        ['body', 'matrix', 1, 0, 'a'],
      ],
    ],
    [
      'body.matrix.a',
      [
        ['body', 'matrix', 0, 0, 'a'],
        ['body', 'matrix', 1, 0, 'a'],
      ],
    ],
    ['body.messages.*.text', []],
    ['metadata.user', []],
    ['body.user', []],
    ['body.metadata.User', []],
    ['body.metadata.us*', []],
    ['body.messages.0', []],
    ['body.metadata.nested.a.b', []],
    ['', []],
  ])('%s', (path, places) => {
    const expected = structuredClone(payload) as Record<string, unknown>;
    for (const place of places) {
      const parent = valueAt(expected, place.slice(0, -1)) as Record<string | number, unknown>;
      parent[place.at(-1)!] = marker;
    }
    expect(redacted(payload, redactionRules([path], []))).toEqual(expected);
  });

  const valueAt = (root: unknown, place: readonly (string | number)[]): unknown =>
    place.reduce((value, step) => (value as Record<string | number, unknown>)[step], root);

  it.each(['headers.X-A', 'headers.x-a', '*.X-a', 'HEADERS.x-a', 'body.METADATA'])(
    'match header names in any case, and other keys exactly: %s',
    (path) => {
      const matches = !/^[A-Z]|\.METADATA/.test(path);
      expect(redacted(payload, redactionRules([path], []))).toEqual(
        matches ? { ...payload, headers: { 'x-a': marker, 'x-b': '2' } } : payload,
      );
    },
  );

  it('are anchored at the wrapped payload root', () => {
    const rules = redactionRules(['events.*.choices.*.delta.content'], []);
    const events = [{ choices: [{ delta: { content: 'a' } }] }, { content: 'b' }];
    expect(redacted({ stream: true, events, usage: null, error: null }, rules)).toEqual({
      stream: true,
      events: [{ choices: [{ delta: { content: marker } }] }, { content: 'b' }],
      usage: null,
      error: null,
    });
  });

  it('are all applied', () => {
    const rules = redactionRules(['body.metadata.user', 'body.*.nested', 'headers.x-b'], []);
    expect(redacted(payload, rules)).toMatchObject({
      headers: { 'x-a': '1', 'x-b': marker },
      body: { metadata: { user: marker, nested: marker } },
    });
  });

  it('match one segment with a wildcard; an array and its item are two segments', () => {
    const rules = redactionRules(['body.messages.*.text', 'body.messages.role'], []);
    expect(redacted(payload, rules)).toEqual(redacted(payload, redactionRules(['body.messages.*.role'], [])));
  });

  type Step = string | number;

  /** The paths to all values inside a value. */
  const placesOf = (value: Json | undefined): readonly (readonly Step[])[] => {
    if (typeof value !== 'object' || value === null) return [];
    return Object.entries(value).flatMap(([key, inner]) => {
      const step = Array.isArray(value) ? Number(key) : key;
      return [[step], ...placesOf(inner as Json).map((rest) => [step, ...rest])];
    });
  };

  it('leave nothing of the value at a path, whichever of its segments are wildcards', () => {
    const aPlace = fc
      .tuple(holding(aCanary), fc.nat(), fc.infiniteStream(fc.boolean()))
      .map(([body, at, wild]) => {
        const places = placesOf({ body }).filter((place) =>
          JSON.stringify(valueAt({ body }, place)).includes(canaryLetter),
        );
        const place = places[at % places.length]!;
        const path = place.map((step) => (typeof step === 'number' || wild.next().value ? '*' : step));
        return { body, place, path };
      })
      .filter(({ path }) => path.every((segment) => !segment.includes('.')));
    fc.assert(
      fc.property(aPlace, ({ body, path }) => {
        expectNoCanary(redacted({ body }, redactionRules([path.join('.')], [])));
      }),
    );
  });
});
