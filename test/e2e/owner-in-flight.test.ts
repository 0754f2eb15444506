import { afterEach, describe, expect, it } from '@jest/globals';
import { aKey, basicConfig, type ConfigFile } from '../support/gateway.ts';
import { frames } from './held-upstream.ts';
import { heldScene } from './held-scene.ts';

const keys = { a: aKey(), bot: aKey() };
const bot = { name: 'bot', owner: 'service_account:bot', value: keys.bot };

/** A service account of a team that may spend; the other team may not. */
const configWith = (upstreamUrl: string, over: ConfigFile = {}): ConfigFile =>
  basicConfig(upstreamUrl, keys.a, {
    more: {
      teams: [
        { id: 'spending', budget: { cadence: 'monthly', amount_10000: 10_000 } },
        { id: 'other', budget: { cadence: 'monthly', amount_10000: 0 } },
      ],
      service_accounts: [{ id: 'bot', team: 'spending' }],
      api_keys: [{ name: 'dev', owner: 'user:a@example.com', value: keys.a }, bot],
      ...over,
    },
  });

const { gateway, upstream, query } = heldScene((url) => configWith(url));
afterEach(() => gateway().take(configWith(upstream().url)));

const call = (): Promise<Response> =>
  fetch(`${gateway().url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys.bot}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'fast', stream: true, messages: [{ role: 'user', content: 'Hi' }] }),
  });

describe('a request in flight', () => {
  it.each([
    [
      'its service account moves to a team that has nothing left',
      { service_accounts: [{ id: 'bot', team: 'other' }] },
      429,
    ],
    ['its key is revoked', { api_keys: [{ name: 'dev', owner: 'user:a@example.com', value: keys.a }] }, 401],
  ])('completes, and is charged to the owner for whom it was admitted, when %s', async (_, change, next) => {
    const answered = call();
    const held = await upstream().next();
    held.head('stream');
    held.write(frames.content);
    const answer = await answered;
    await gateway().take(configWith(upstream().url, change));
    const refused = await call();
    expect({ status: refused.status, text: await refused.text() }).toMatchObject({ status: next });
    held.write(frames.finish + frames.usage + frames.done);
    held.end();
    expect(await answer.text()).toMatch(/data: \[DONE\]\n\n$/);
    const id = answer.headers.get('x-request-id');
    expect(
      await query(
        'select ownership_scope_key, service_account_id, pricing_status from usage_cost_events where request_id = $1',
        [id],
      ),
    ).toEqual([
      {
        ownership_scope_key: 'team:spending:actor:none',
        service_account_id: 'bot',
        pricing_status: 'priced',
      },
    ]);
  });
});
