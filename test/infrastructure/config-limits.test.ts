import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { parseConfig } from '../../infrastructure/config/load.ts';
import { seedOf } from '../../infrastructure/config/seed.ts';

const key = `gwk_${'a'.repeat(32)}.${'b'.repeat(64)}`;

const file = (limits: string): string =>
  [
    `models: [{id: m, limits: ${limits}}]`,
    `teams: [{id: t, limits: ${limits}}]`,
    `users: [{email: a@x.org, limits: ${limits}}]`,
    `api_keys: [{name: k, owner: "user:a@x.org", value: "\${KEY}", limits: ${limits}}]`,
  ].join('\n');

const read = (limits: string) => parseConfig(file(limits), { KEY: key });

const places = ['models[0]', 'teams[0]', 'users[0]', 'api_keys[0]'];

describe('rate limits in the file', () => {
  it('are read for API keys, users, teams and models, and each measure is optional', () => {
    const loaded = read('{requests_per_minute: 60, requests_in_flight: 2}');
    if (E.isLeft(loaded)) throw new Error(JSON.stringify(loaded.left));
    const { models, teams, users, apiKeys } = seedOf(loaded.right);
    for (const [each] of [models, teams, users, apiKeys])
      expect(each?.limits).toEqual({ requests: 60, tokens: undefined, inFlight: 2 });
  });

  it.each([
    ['0', '{requests_per_minute: 0}', '.limits.requests_per_minute', /from 1 to 9007199254740991/],
    ['a fraction', '{tokens_per_minute: 1.5}', '.limits.tokens_per_minute', /whole number|integer/],
    ['a text', '{requests_in_flight: many}', '.limits.requests_in_flight', /./],
    ['no measure', '{}', '.limits', /needs one of requests_per_minute/],
    ['an unknown measure', '{requests_per_hour: 5}', '.limits.requests_per_hour', /did you mean/],
  ])('are rejected with the path of the fault: %s', (_what, limits, at, message) => {
    const loaded = read(limits);
    const problems = E.isLeft(loaded) ? loaded.left : [];
    for (const place of places)
      expect(problems).toContainEqual(
        expect.objectContaining({ path: `${place}${at}`, message: expect.stringMatching(message) }),
      );
  });
});
