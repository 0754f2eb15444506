import { describe, expect, it } from '@jest/globals';
import { lintConfig } from '../../infrastructure/config/lint.ts';
import { parseConfig } from '../../infrastructure/config/load.ts';
import { plainHosts } from '../../infrastructure/postgres/hosts.ts';

/** The path and the message of each warning. */
function warnings(text: string): readonly (readonly [string, string])[] {
  const loaded = parseConfig(text, {});
  if (loaded._tag === 'Left') throw new Error(JSON.stringify(loaded.left, null, 2));
  const known = { hasPrice: () => true, canServe: () => true, plainHosts };
  return lintConfig(loaded.right, known).map(({ path, message }) => [path, message]);
}

describe('a base_url with the path of a call', () => {
  const at = (url: string): string =>
    `providers:\n  - {id: p, type: compat, base_url: "${url}", auth: {mode: none}}\n`;

  it.each([
    ['https://api.openai.com/v1/chat/completions', '/chat/completions'],
    ['https://h.example.com/openai/v1/responses/', '/responses'],
    ['https://h.example.com/embeddings', '/embeddings'],
  ])('is reported, for the path is appended again: %s', (url, path) => {
    expect(warnings(at(url))).toEqual([
      ['providers[0].base_url', `ends with ${path}, which is appended to it: leave it out`],
    ]);
  });

  it.each(['https://api.openai.com/v1', 'https://h.example.com/chat', 'https://completions.example.com'])(
    'is not reported: %s',
    (url) => {
      expect(warnings(at(url))).toEqual([]);
    },
  );
});

describe('a model without a route', () => {
  it.each(['{id: m}', '{id: m, routes: []}'])(
    'is reported, for no request for it can be sent: %s',
    (model) => {
      expect(warnings(`models:\n  - ${model}\n`)).toEqual([
        ['models[0].routes', 'is empty: requests for the model get 503 no_routes_available'],
      ]);
    },
  );

  it('is not reported if its routes are only disabled', () => {
    const text =
      'providers: [{id: p, type: compat, base_url: "https://h.example.com/v1"}]\n' +
      'models: [{id: m, routes: [{provider: p, upstream_model: u, enabled: false}]}]\n';
    expect(warnings(text)).toEqual([]);
  });
});

describe('the time zone of a budget', () => {
  const strict = 'accounting: {duplicate_request_ids: reject, after_block: close_window}\n';
  const budget = (zone: string): string => `budget: {cadence: monthly, amount_10000: 1${zone}}`;

  it.each([
    ['users', 'users: [{email: a@example.com, BUDGET}]\n'],
    ['teams', 'teams: [{id: t, BUDGET}]\n'],
  ])('is reported unless it is UTC, for windows are in UTC: %s', (list, text) => {
    const of = (zone: string) => warnings(strict + text.replace('BUDGET', budget(zone)));
    expect(of(', timezone: Europe/Paris')).toEqual([
      [
        `${list}[0].budget.timezone`,
        'is Europe/Paris, but has no effect: the windows of all budgets begin at 00:00 UTC',
      ],
    ]);
    expect([of(', timezone: UTC'), of('')]).toEqual([[], []]);
  });
});
