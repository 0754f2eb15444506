import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type AdminClient, adminClient, makeAdmin } from '../support/admin.ts';
import { timed } from '../support/undisturbed.ts';
import { limitHeadersOf, limitsConfig, limitsScene } from './limits-scene.ts';

const { ask, query, secondsBeforeEnd, gateways, upstream, databaseUrl } = limitsScene();
const root = '/api/v1/admin/rate-limits';
let admin: AdminClient;
beforeAll(async () => {
  await secondsBeforeEnd(55);
  await makeAdmin(databaseUrl());
  admin = await adminClient(gateways[0]!.url);
});

interface Item {
  readonly subject_kind: string;
  readonly subject_id: string;
  readonly version: number;
}
const itemsOf = (data: unknown): readonly Item[] => (data as { items: readonly Item[] }).items;

/** The paths of four subjects: a key, a user, a team and a model whose id has a slash. */
async function paths(): Promise<Readonly<Record<'key' | 'user' | 'team' | 'model', string>>> {
  const [key] = await query<{ id: string }>(`select api_key_id as id from api_keys where name = 'free'`);
  const [user] = await query<{ id: string }>(
    `insert into users (email, name) values ($1, 'U') returning user_id as id`,
    [`${randomUUID()}@example.com`],
  );
  const [team] = await query<{ id: string }>(
    `insert into teams (team_id, name) values ($1, 'T') returning team_id as id`,
    [`t/${randomUUID()}`],
  );
  const [model] = await query<{ id: string }>(
    'insert into models (model_key) values ($1) returning model_key as id',
    [`org/${randomUUID()}`],
  );
  const at = (kind: string, row: { id: string } | undefined): string =>
    `${root}/${kind}/${encodeURIComponent(row?.id ?? '')}`;
  return {
    key: at('api-keys', key),
    user: at('users', user),
    team: at('teams', team),
    model: at('models', model),
  };
}

describe('rate limits over the admin API', () => {
  it('are set, returned with their current use, and removed; each change writes an event', async () => {
    for (const [what, path] of Object.entries(await paths())) {
      const set = await admin('PUT', path, { requests_per_minute: 9, tokens_per_minute: null });
      expect([what, set.status]).toEqual([what, 200]);
      const id = decodeURIComponent(path.split('/').at(-1) ?? '');
      expect(set.data).toEqual({
        subject_kind: what === 'key' ? 'api_key' : what,
        subject_id: id,
        subject_name: expect.any(String),
        requests_per_minute: 9,
        tokens_per_minute: null,
        requests_in_flight: null,
        current_window: { start: expect.any(String), end: expect.any(String), requests: 0, tokens: 0 },
        in_flight: 0,
        from_config: false,
        version: 1,
        updated_at: expect.any(String),
      });
      expect((await admin('PUT', path, { requests_per_minute: 9 })).data).toEqual(set.data);
      expect((await admin('PUT', path, { requests_in_flight: 4 })).data).toMatchObject({
        requests_per_minute: null,
        requests_in_flight: 4,
        version: 2,
      });
      expect((await admin('DELETE', path)).data).toMatchObject({ subject_id: id, deleted: true });
      expect((await admin('DELETE', path)).data).toMatchObject({ deleted: false });
      const events = await admin('GET', `/api/v1/admin/events?target_id=${encodeURIComponent(id)}`);
      expect(itemsOf(events.data)).toMatchObject([
        { action: 'rate_limit.delete', before_json: { version: 2, requests_in_flight: 4 }, after_json: null },
        { action: 'rate_limit.set', before_json: { version: 1 }, after_json: { version: 2 } },
        { action: 'rate_limit.set', before_json: null, after_json: { requests_per_minute: 9 } },
      ]);
    }
  });

  it('show the requests and tokens of the current minute, and the requests in flight', async () => {
    const { user } = await paths();
    const id = decodeURIComponent(user.split('/').at(-1) ?? '');
    const terms = { requests_per_minute: 9, tokens_per_minute: 80, requests_in_flight: 4 };
    await admin('PUT', user, terms);
    await secondsBeforeEnd(55);
    const [now] = await query<{ starts: Date }>(
      `update rate_limit_windows set window_start = date_trunc('minute', gateway_now(), 'UTC'), requests = 3,
         tokens = 40 where subject = $1 returning window_start as starts`,
      [`user:${id}`],
    );
    await query(
      `insert into rate_limit_holds select $1, gen_random_uuid(), gen_random_uuid(), gateway_now() + interval '1 hour'
       from generate_series(1, 2)`,
      [`user:${id}`],
    );
    const starts = now?.starts.getTime() ?? 0;
    const { data } = await admin('GET', `${root}?subject_kind=user&page_size=200`);
    expect(itemsOf(data).find(({ subject_id }) => subject_id === id)).toMatchObject({
      ...terms,
      current_window: {
        start: new Date(starts).toISOString(),
        end: new Date(starts + 60_000).toISOString(),
        requests: 3,
        tokens: 40,
      },
      in_flight: 2,
    });
  });

  it('are changed and removed while all tables are replicated logically', async () => {
    const { team } = await paths();
    await query('create publication all_of_them for all tables');
    const asked = [
      await admin('PUT', team, { requests_per_minute: 9 }),
      await admin('PUT', team, { requests_per_minute: 8 }),
      await admin('DELETE', team),
    ];
    await query('drop publication all_of_them');
    expect(asked.map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  it('are in force on every replica within 5 seconds, and so is their removal', async () => {
    const { key } = await paths();
    await admin('PUT', key, { requests_per_minute: 1 });
    await timed(async (soFarMs) => {
      for (;;) {
        const replies = [await ask('free'), await ask('free', { replica: 1 })];
        if (replies.every((reply) => limitHeadersOf(reply)['x-ratelimit-limit-requests'] === '1')) break;
        expect(soFarMs()).toBeLessThan(5000);
        await sleep(50);
      }
      expect((await ask('free')).status).toBe(429);
      await admin('DELETE', key);
      while ((await ask('free', { replica: 1 })).status !== 200) {
        expect(soFarMs()).toBeLessThan(10_000);
        await sleep(50);
      }
    });
  });

  it('are listed in pages, ordered by kind and id, and filtered by kind', async () => {
    const all = await admin('GET', `${root}?page_size=200`);
    const keys = itemsOf(all.data).map(({ subject_kind, subject_id }) => `${subject_kind}:${subject_id}`);
    expect(keys.length).toBeGreaterThan(10);
    expect(new Set(keys.map((each) => each.split(':')[0])).size).toBeGreaterThan(2);
    expect(keys).toEqual(keys.toSorted((one, other) => (one < other ? -1 : Number(one > other))));
    const second = await admin('GET', `${root}?page_size=4&page=2`);
    expect(second.data).toMatchObject({
      page: 2,
      page_size: 4,
      total: keys.length,
      total_is_lower_bound: false,
    });
    expect(itemsOf(second.data)).toMatchObject(
      itemsOf(all.data)
        .slice(4, 8)
        .map(({ subject_id }) => ({ subject_id })),
    );
    const models = await admin('GET', `${root}?subject_kind=model`);
    expect(itemsOf(models.data)).toMatchObject([
      { subject_kind: 'model', subject_id: 'scarce', from_config: true },
    ]);
  });

  it('from the file keep an admin’s change until the file is applied again', async () => {
    const path = `${root}/models/scarce`;
    expect((await admin('PUT', path, { requests_per_minute: 500 })).data).toMatchObject({
      requests_per_minute: 500,
      from_config: true,
      version: 2,
    });
    await gateways[1]!.take(limitsConfig(upstream().url));
    const [item] = itemsOf((await admin('GET', `${root}?subject_kind=model`)).data);
    expect(item).toMatchObject({ requests_per_minute: 2, from_config: true, version: 3 });
  });

  it('of concurrent changes to the same version one wins; the others are 409 with the current state', async () => {
    const { user: path } = await paths();
    await admin('PUT', path, { requests_per_minute: 1 });
    const answers = await Promise.all(
      [2, 3, 4, 5].map((most) => admin('PUT', path, { requests_per_minute: most }, { 'if-match': '"1"' })),
    );
    expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
      200, 409, 409, 409,
    ]);
    const won = answers.find(({ status }) => status === 200);
    for (const { status, text } of answers)
      if (status === 409) expect(text).toContain(JSON.stringify(won?.data).slice(0, 80));
    expect((await admin('DELETE', path, undefined, { 'if-match': '"1"' })).error).toMatchObject({
      code: 'conflict',
    });
    expect((await admin('DELETE', path, undefined, { 'if-match': '"2"' })).data).toMatchObject({
      deleted: true,
    });
    expect(await admin('PUT', path, { requests_per_minute: 1 }, { 'if-match': '"2"' })).toMatchObject({
      status: 409,
    });
    expect(await admin('PUT', path, { requests_per_minute: 1 }, { 'if-match': '"0"' })).toMatchObject({
      status: 400,
      error: { param: 'if-match', message: '`If-Match` must name a version in quotes, such as "3".' },
    });
  });

  it.each([
    ['api-keys', randomUUID()],
    ['users', randomUUID()],
    ['users', 'nobody'],
    ['teams', 'nobody'],
    ['models', 'nobody'],
  ])('of an unknown owner or model are 404: %s %s', async (kind, id) => {
    const path = `${root}/${kind}/${id}`;
    expect(await admin('PUT', path, { requests_per_minute: 1 })).toMatchObject({
      status: 404,
      error: { code: 'not_found', message: expect.stringMatching(/^There is no active /) },
    });
    expect((await admin('DELETE', path)).status).toBe(404);
  });

  it.each([
    [{}, 'requests_per_minute'],
    [{ requests_per_minute: null }, 'requests_per_minute'],
    [{ requests_per_minute: 0 }, 'requests_per_minute'],
    [{ tokens_per_minute: 1.5 }, 'tokens_per_minute'],
    [{ requests_in_flight: '3' }, 'requests_in_flight'],
    [{ requests_per_minute: 2 ** 53 }, 'requests_per_minute'],
    [{ requests_per_hour: 1 }, 'requests_per_hour'],
  ])('that are invalid are refused with 400 and name the field: %j', async (body, param) => {
    expect(await admin('PUT', `${root}/models/fast`, body)).toMatchObject({
      status: 400,
      error: { code: 'invalid_request', param },
    });
  });

  it('are answered with 200 or 400 for any body, never with 500', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.json(),
          fc
            .record(
              {
                requests_per_minute: fc.oneof(fc.integer(), fc.double(), fc.string(), fc.constant(null)),
                tokens_per_minute: fc.oneof(fc.maxSafeInteger(), fc.constant(null)),
                requests_in_flight: fc.oneof(fc.nat(), fc.boolean()),
              },
              { requiredKeys: [] },
            )
            .map((body) => JSON.stringify(body)),
        ),
        async (body) => {
          const { status } = await admin('PUT', `${root}/models/fast`, body);
          expect([200, 400]).toContain(status);
        },
      ),
      { numRuns: 200 },
    );
  });
});
