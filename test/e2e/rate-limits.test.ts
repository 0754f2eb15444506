import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { timed } from '../support/undisturbed.ts';
import { limitHeadersOf, limitsConfig, limitsScene, type Reply } from './limits-scene.ts';
import { eventually, outcomesOf, tracesIn } from './traces.ts';

const { ask, query, secondsBeforeEnd, gateways, upstream } = limitsScene();
const traceOf = tracesIn(query);
beforeEach(() => secondsBeforeEnd(50));

const statuses = (replies: readonly Reply[]): readonly number[] =>
  replies.map(({ status }) => status).toSorted((one, other) => one - other);
const times = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);

describe('a rate limit over sockets', () => {
  it('applies across two replicas: further requests get 429 and a `retry-after` within the minute', async () => {
    const replies = await Promise.all(
      times(8).map((turn) => ask('few', { replica: turn % 2 === 0 ? 0 : 1 })),
    );
    expect(statuses(replies)).toEqual([200, 200, 200, 429, 429, 429, 429, 429]);
    const refused = replies.find(({ status }) => status === 429)!;
    expect(JSON.parse(refused.text)).toEqual({
      error: {
        message: expect.stringMatching(
          /^Rate limit reached: this API key has 3 requests a minute; try again in \d+ s\.$/,
        ),
        type: 'rate_limit_error',
        param: null,
        code: 'rate_limited',
      },
    });
    const { headers, requestId } = refused;
    expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(50);
    expect(headers.get('x-should-retry')).toBeNull();
    expect(headers.get('x-gateway-error')).toBe('rate_limited');
    expect(limitHeadersOf(refused)).toEqual({
      'x-ratelimit-limit-requests': '3',
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': expect.stringMatching(/^\d+s$/),
    });
    const { logs, attempts, ledger } = await traceOf(requestId);
    expect(logs).toEqual([expect.objectContaining({ status_code: 429, error_code: 'rate_limited' })]);
    expect([attempts, ledger]).toEqual([[], []]);
    const gateway = gateways.find((each) => outcomesOf(each, requestId).length > 0)!;
    expect(outcomesOf(gateway, requestId)).toEqual([
      expect.objectContaining({ outcome: 'overloaded', status: 429, error_code: 'rate_limited' }),
    ]);
  });

  it('is reported to a messages client in the error format and headers of that family', async () => {
    const path = '/v1/messages';
    for (let turn = 0; turn < 5; turn += 1) await ask('refused', { path });
    const reply = await ask('refused', { path });
    expect(reply.status).toBe(429);
    expect(JSON.parse(reply.text)).toMatchObject({
      type: 'error',
      error: { type: 'rate_limit_error', details: { error_code: 'rate_limited' } },
    });
    expect(limitHeadersOf(reply)).toEqual({
      'anthropic-ratelimit-requests-limit': '5',
      'anthropic-ratelimit-requests-remaining': '0',
      'anthropic-ratelimit-requests-reset': expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:00Z$/),
    });
  });

  it('of tokens refuses the next request once the tokens of the minute are used up', async () => {
    expect((await ask('thirsty')).headers.get('x-ratelimit-remaining-tokens')).toBe('20');
    expect((await ask('thirsty', { replica: 1 })).status).toBe(200);
    const reply = await ask('thirsty');
    expect([reply.status, reply.headers.get('x-ratelimit-remaining-tokens')]).toEqual([429, '0']);
  });

  it('of requests in flight refuses with `retry-after: 1`, and admits the next request after one has ended', async () => {
    const second = await eventually(async () => {
      const first = ask('narrow', { body: { model: 'slow' } });
      await eventually(() => upstream().inFlight() === 1 || undefined);
      const reply = await ask('narrow', { replica: 1 });
      // On a slow machine the first may have ended before the second was refused; then both are repeated.
      const wasThere = upstream().inFlight() === 1;
      expect((await first).status).toBe(200);
      return wasThere ? reply : undefined;
    });
    expect([second.status, second.headers.get('retry-after')]).toEqual([429, '1']);
    expect(second.text).toContain('1 requests in flight at once');
    expect((await ask('narrow', { replica: 1 })).status).toBe(200);
  });

  it('of an owner counts all of its keys, and that of a team its service accounts, but not its members', async () => {
    const own = [await ask('other'), await ask('another'), await ask('other'), await ask('another')];
    expect(own.map(({ status }) => status)).toEqual([200, 200, 429, 429]);
    const team = await Promise.all(
      (['team', 'account', 'team', 'account'] as const).map((name) => ask(name)),
    );
    expect(statuses(team)).toEqual([200, 200, 200, 429]);
    const member = await ask('member');
    expect([member.status, limitHeadersOf(member)]).toEqual([200, {}]);
  });

  it('of a model counts the requests of all keys for it, and no request for another model', async () => {
    const scarce = { body: { model: 'scarce' } };
    const replies = [await ask('free', scarce), await ask('member', scarce), await ask('told', scarce)];
    expect(statuses(replies)).toEqual([200, 200, 429]);
    expect(replies[2]?.text).toContain('the model `scarce` has 2 requests a minute');
    expect(replies[0]?.headers.get('x-ratelimit-remaining-requests')).toBe('1');
    expect((await ask('free')).status).toBe(200);
  });

  it('is checked after the budget: a request over the budget gets `budget_exceeded` and holds nothing', async () => {
    for (let turn = 0; turn < 3; turn += 1) {
      const reply = await ask('blocked');
      expect([reply.status, reply.headers.get('x-gateway-error')]).toEqual([429, 'budget_exceeded']);
    }
    expect(await query('select from rate_limit_holds')).toEqual([]);
  });
});

describe('the headers of a limited key', () => {
  const shown = { 'x-ratelimit-limit-requests': '50', 'x-ratelimit-limit-tokens': '5000' };

  it.each([
    ['a non-streamed response', {}, 200],
    ['a stream', { body: { stream: true } }, 200],
    ['the refusal of an invalid body', { body: { messages: 7 } }, 400],
    ['the refusal of an unknown model', { body: { model: 'nobody' } }, 404],
    ['the list of models', { path: '/v1/models' }, 200],
    ['one model', { path: '/v1/models/fast' }, 200],
  ] as const)('are on %s', async (_what, asked, status) => {
    const reply = await ask('told', asked);
    expect(reply.status).toBe(status);
    expect(limitHeadersOf(reply)).toMatchObject(shown);
  });

  it('are on an error of the upstream, beside its `retry-after`', async () => {
    const reply = await ask('told', { body: { model: 'fails' } });
    expect([reply.status, reply.headers.get('x-gateway-error')]).toEqual([429, 'upstream_error']);
    expect(reply.headers.get('retry-after')).toBe('7');
    expect(limitHeadersOf(reply)).toMatchObject(shown);
  });

  it('count down with each request and its tokens, including streams', async () => {
    const [first, second] = [await ask('streams'), await ask('streams', { body: { stream: true } })];
    expect(limitHeadersOf(first)).toMatchObject({
      'x-ratelimit-remaining-requests': '8',
      'x-ratelimit-remaining-tokens': '970',
    });
    expect(limitHeadersOf(second)).toMatchObject({
      'x-ratelimit-remaining-requests': '7',
      'x-ratelimit-remaining-tokens': '970',
    });
    expect(limitHeadersOf(await ask('streams', { replica: 1 }))).toMatchObject({
      'x-ratelimit-remaining-requests': '6',
      'x-ratelimit-remaining-tokens': '910',
    });
  });

  it('are absent for a key without limits, for an unknown key, and without a key', async () => {
    expect(limitHeadersOf(await ask('free'))).toEqual({});
    expect(limitHeadersOf(await ask('told', { key: 'gwk_nobody00.0' }))).toEqual({});
    const keyless = await fetch(`${gateways[0]?.url}/v1/models`);
    expect([keyless.status, limitHeadersOf(keyless)]).toEqual([401, {}]);
  });
});

describe('a limit of the configuration file', () => {
  it('is in force on every replica within 5 seconds of its change, and ends with its block', async () => {
    await secondsBeforeEnd(55);
    const at = () => Promise.all([ask('changing'), ask('changing', { replica: 1 })]);
    const until = async (wanted: string | null): Promise<number> => {
      const { ms } = await timed(async (soFarMs) => {
        for (;;) {
          const told = (await at()).map(({ headers }) => headers.get('x-ratelimit-limit-requests'));
          if (told.every((each) => each === wanted)) return;
          if (soFarMs() > 10_000) throw new Error(`it is ${told.join(', ')}`);
          await sleep(100);
        }
      });
      return ms;
    };
    expect(await until('1')).toBeLessThan(5000);
    await gateways[0]!.take(limitsConfig(upstream().url, { changing: { requests_per_minute: 70 } }));
    expect(await until('70')).toBeLessThan(5000);
    await gateways[0]!.take(limitsConfig(upstream().url, { changing: undefined }));
    expect(await until(null)).toBeLessThan(5000);
    expect(statuses(await at())).toEqual([200, 200]);
  });

  it('replaces what an admin has set for the same subject, and keeps the limits of other subjects', async () => {
    await query(
      `insert into rate_limits (subject_kind, subject_id, requests_per_minute)
       values ('team', 'nobody-here', 5)`,
    );
    await query(
      `update rate_limits set requests_per_minute = 99, version = version + 1 where subject = 'team:crew'`,
    );
    await gateways[0]!.take(limitsConfig(upstream().url));
    expect(
      await query(
        `select subject_id, requests_per_minute, from_config, version from rate_limits
         where subject_kind = 'team' order by 1`,
      ),
    ).toEqual([
      { subject_id: 'crew', requests_per_minute: '3', from_config: true, version: 3 },
      { subject_id: 'nobody-here', requests_per_minute: '5', from_config: false, version: 1 },
    ]);
  });
});
