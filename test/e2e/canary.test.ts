import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type OtlpReceiver, startOtlpReceiver, until } from '../support/otlp-receiver.ts';
import {
  planted,
  canary,
  odd,
  staying,
  plain,
  ownKey,
  otherKey,
  adminToken,
  ownSecret,
  plainKey,
  plainSecret,
  credentials,
  canaryConfig,
  modelsByProvider,
  spellings,
  escaped,
  finder,
} from './canaries.ts';
import {
  url,
  inJson,
  messagesForItself,
  embeddings,
  families,
  wholeAnswer,
  frame,
  named,
  inPieces,
  answerOf,
} from './canary-bodies.ts';
import { type Answer, type Loose, scene, streamed, whole } from './scene.ts';
import { chat, messages, responses, type Talk } from './talk.ts';

let collector: OtlpReceiver;
beforeAll(async () => {
  collector = await startOtlpReceiver();
});
const { ask, open, query, gateway, databaseUrl } = scene((url, key) => canaryConfig(url, key, collector.url));
afterAll(() => collector?.close());

/** Every error text that a caller received. */
const told: string[] = [];
/** The number of requests that must have a log row. */
let logged = 0;

/** The error events of a stream. */
const failuresIn = ({ events }: Answer): string =>
  events
    .map(({ data }) => data)
    .filter((data) => /"error"\s*:\s*[{"]|"type":\s*"(?:error|response\.failed)"/.test(data))
    .join('\n');

async function asks(...args: Parameters<typeof ask>): Promise<Answer> {
  const [talk, replay, asked] = args;
  const answer = await ask(talk, replay, { key: ownKey, ...asked });
  if (answer.status === 200) told.push(failuresIn(answer));
  else told.push(answer.text);
  if (answer.status !== 401) logged += 1;
  return answer;
}

describe('a request with secrets in known places', () => {
  it.each(families)(
    'is served with secrets in its body and in its answer: %s',
    async (_, talk, body, stream) => {
      const answer = await asks(talk, answerOf(talk, stream), { stream, body: { ...body() } });
      expect(answer.status).toBe(200);
    },
  );

  it('is refused with secrets in a messages body that cannot be translated', async () => {
    const answer = await asks(messages, whole('{}'), { stream: false, body: { ...messagesForItself() } });
    expect(answer.status).toBe(400);
  });

  it.each(families)(
    'is served with secrets in its headers and its query: %s',
    async (_, talk, body, stream) => {
      const headers = {
        cookie: `session=${canary('cookie')}; other=${canary('cookie')}`,
        'x-api-key': canary('x-api-key'),
        'anthropic-api-key': canary('anthropic-api-key'),
        'X-Goog-Api-Key': canary('x-goog-api-key'),
        'proxy-authorization': `Basic ${canary('proxy-authorization')}`,
        'set-cookie': canary('set-cookie'),
        referer: `https://app.example/${plain()}?code=${canary('referer')}`,
        'x-original-url': `https://user:${canary('x-original-url')}@app.example/?code=${canary('x-original-url')}`,
        'api-key': canary('api-key'),
        token: canary('token header'),
        'x-forwarded-access-token': canary('x-forwarded-access-token'),
        'x-amzn-oidc-data': canary('x-amzn-oidc-data'),
        'cf-access-jwt-assertion': canary('cf-access-jwt-assertion'),
        'ocp-apim-subscription-key': canary('ocp-apim-subscription-key'),
        dpop: canary('dpop'),
        'idempotency-key': plain(),
        'user-agent': plain(),
      };
      const path = `${talk.path}?key=${canary('query of the path')}`;
      const answer = await asks(talk, answerOf(talk, stream), { stream, body: { ...body() }, headers, path });
      expect(answer.status).toBe(200);
    },
  );

  it('is refused with secrets in an invalid key, an unread body or an unknown path', async () => {
    for (const headers of [
      { authorization: `Bearer ${canary('an invalid key')}` },
      { authorization: `Basic ${canary('another scheme')}` },
      { authorization: `Bearer gwk_12345678.${canary('an unknown key')}${'x'.repeat(32)}` },
      { 'x-api-key': canary('an invalid x-api-key') },
    ]) {
      const body = { password: canary('a body that nobody reads') };
      const answer = await asks(chat, whole('{}'), { key: undefined, headers, body });
      expect(answer.status).toBe(401);
    }
    const named = plain('path in an error text');
    for (const secret of [ownSecret, ownKey]) {
      const path = `/v1/${named}/${encodeURIComponent(secret)}?key=${canary('query of an unknown path')}`;
      const { response } = await open(chat, whole('{}'), { key: ownKey, path });
      expect(response.status).toBe(404);
      const text = await response.text();
      expect(text).toContain(named);
      told.push(text);
    }
  });

  it('is refused with secrets in an invalid body', async () => {
    const secret = () => JSON.stringify(odd('an invalid body'));
    for (const spelled of [
      () => `{"password":${secret()},`,
      () => `[{"password":${secret()}}]`,
      () => `{"model":"fast","messages":[],"password":${secret()},"password":1}`,
      () =>
        `{"model":"fast","messages":"${canary('a field of the wrong type')}"}`.replace(
          'messages',
          'password',
        ),
      () => `{"model":{"api_key":${secret()}},"messages":[]}`,
    ]) {
      const answer = await asks(chat, whole('{}'), { spelled });
      expect(answer.status).toBe(400);
    }
  });
});

const callerKeys = (): readonly string[] => [ownKey, ownSecret, otherKey, adminToken];

/** Every text that must not be stored: the file's credentials, the database's password, and callers' keys. */
const knownSecrets = (): readonly string[] => [
  ...Object.values(credentials),
  databasePassword(),
  ...callerKeys(),
];
const databasePassword = (): string => new URL(databaseUrl()).password;

/** The models whose provider answers a chat with a chat completion, as the upstream here does for all. */
const speakChat = new Set(['by-up', 'by-headed', 'by-run']);

const everySpelling = (): string =>
  knownSecrets()
    .flatMap((secret) => spellings.map(([, spell]) => `«${spell(secret)}»`))
    .join(' ');

describe('a request with configured credentials and callers’ keys', () => {
  it('can include the database password: it is long enough to be searched for', () => {
    expect(databasePassword().length).toBeGreaterThanOrEqual(16);
  });

  it.each(families)('is served with them in any text and encoding: %s', async (_, talk, __, stream) => {
    const text = everySpelling();
    const shapes: Readonly<Record<string, object>> = {
      [chat.path]: { messages: [{ role: 'user', content: text }], [credentials.bearer]: { [ownKey]: text } },
      [messages.path]: { messages: [{ role: 'user', content: text }], system: text },
      [responses.path]: { input: text, instructions: [text] },
      [embeddings.path]: { model: 'fast', input: [text] },
    };
    const said = JSON.stringify(text).slice(1, -1);
    const replay = stream
      ? streamed(
          inPieces(text, 11)
            .map((piece) => talk.upstream.piece.replace('piece', JSON.stringify(piece).slice(1, -1)))
            .reduce((all, each) => all + each, talk.upstream.begin) +
            talk.upstream.finish +
            talk.upstream.usage +
            talk.upstream.done,
        )
      : whole(
          talk === embeddings ? { data: [], model: text } : talk.upstream.whole.replace('all', () => said),
        );
    const answer = await asks(talk, replay, { stream, body: shapes[talk.path] as Record<string, unknown> });
    expect(answer.status).toBe(200);
  });

  it.each([ownKey, ownSecret, plainSecret, adminToken, ...Object.values(credentials)])(
    'is 404 with one as the model, and is served with one in the user agent and other headers (%#)',
    async (secret) => {
      // Headers are ASCII only, so other characters are escaped as in JSON.
      const asText = secret.replace(/[^\x20-\x7e]/g, escaped);
      const key = secret === plainSecret ? plainKey : ownKey;
      const headers = {
        'user-agent': `agent/1.0 (${asText})`,
        'x-forwarded-for': asText,
        tracestate: `v=${encodeURIComponent(asText)}`,
        'x-note': JSON.stringify(asText),
      };
      const unknown = await asks(chat, whole('{}'), { key, headers, body: { model: secret } });
      expect(unknown.status).toBe(404);
      const known = await asks(chat, whole(chat.upstream.whole), { key, headers, stream: false });
      expect(known.status).toBe(200);
    },
  );

  it('is served with one in valid caller tags, and is refused with one in invalid tags', async () => {
    for (const headers of [
      { 'x-gateway-service': plainSecret },
      { 'x-gateway-component': plainSecret, 'x-gateway-env': plainSecret },
      { 'x-gateway-tags': `a=${plainSecret}; ${plainSecret}=b` },
    ]) {
      const answer = await asks(chat, whole(chat.upstream.whole), { key: plainKey, headers, stream: false });
      expect(answer.status).toBe(200);
    }
    const refused = await asks(chat, whole('{}'), {
      key: plainKey,
      headers: { 'x-gateway-tags': `a=${plainKey}`, 'x-gateway-service': `${plainSecret} ${plainSecret}` },
    });
    expect(refused.status).toBe(400);
  });

  it('is refused with one as a repeated key of its body', async () => {
    for (const [key, secret] of [
      [ownKey, ownKey],
      [ownKey, ownSecret],
      [plainKey, plainKey],
      [ownKey, credentials.bearer],
    ] as const) {
      const member = `${JSON.stringify(secret)}:1`;
      const twice = await asks(chat, whole('{}'), {
        key,
        spelled: () => `{"model":"fast",${member},${member},"messages":[]}`,
      });
      expect(twice.status).toBe(400);
    }
  });

  it.each(modelsByProvider)(
    'is sent to the provider, and is answered with 502 if the provider does not answer with a chat completion: %s',
    async (model) => {
      const answer = await asks(chat, whole(chat.upstream.whole), { stream: false, body: { model } });
      expect(answer.upstream).toBeDefined();
      expect(answer.status).toBe(speakChat.has(model) ? 200 : 502);
    },
  );
});

describe('an upstream that echoes the request with its secrets', () => {
  /** Error messages of an upstream that quote the request or a URL. */
  const echoes: readonly (readonly [string, (received: Loose) => string])[] = [
    ['the authorization header', ({ headers }) => `Bad credentials: ${headers['authorization']}`],
    ['all headers', ({ headers }) => `Received: ${JSON.stringify(headers)}`],
    ['the body', ({ text }) => `Cannot read ${text}`],
    ['the body as a string', ({ text }) => `Cannot read ${JSON.stringify(text)}`],
    ['a URL', () => `Could not fetch "${url('error text')}", giving up`],
    ['the body behind a long text', ({ text }) => `${'x'.repeat(1000)}${text}`],
    ...[980, 1000, 1015].map((chars): readonly [string, (received: Loose) => string] => [
      `a key where a message is cut off (${chars})`,
      ({ headers }) => `${'x'.repeat(chars)} ${ownKey} ${headers['authorization']}`,
    ]),
  ];

  const body = (talk: Talk): object => {
    const text = `My keys: ${ownKey} and ${ownSecret}`;
    if (talk === embeddings) return { model: 'fast', input: text, password: odd('echoed body') };
    const spoken = talk === responses ? { input: text } : { messages: [{ role: 'user', content: text }] };
    return { ...spoken, metadata: { password: odd('echoed body'), note: inJson('echoed body') } };
  };

  /** Sends the request once, so that the test knows what the upstream receives and can echo it. */
  async function received(talk: Talk, stream: boolean): Promise<Loose> {
    const replay = stream ? streamed('') : whole(wholeAnswer(talk));
    const { upstream } = await asks(talk, replay, { stream, body: body(talk) as Record<string, unknown> });
    expect(upstream?.headers['authorization']).toBe(`Bearer ${credentials.bearer}`);
    expect(upstream?.headers['x-route-secret']).toBe(credentials.routeHeader);
    expect(upstream?.text).toContain(JSON.stringify(credentials.extraBody));
    return upstream;
  }

  const wholeErrors = (message: string, sent: Loose): readonly (readonly [number, object])[] => [
    [400, { error: { message, type: 'invalid_request_error', param: message, code: message } }],
    [401, { error: message }],
    [429, { message }],
    [500, { detail: message }],
    [403, [{ error: { message } }]],
    [200, { error: { message, request: { headers: sent.headers, body: sent.body } } }],
  ];

  it.each(families)(
    'in an error answer is answered with an error status: %s',
    async (_, talk, __, stream) => {
      const sent = await received(talk, stream);
      for (const [, echo] of echoes)
        for (const [status, error] of wholeErrors(echo(sent), sent)) {
          const replay = whole(error, { status });
          const answer = await asks(talk, replay, { stream, body: body(talk) as Record<string, unknown> });
          expect(answer.status).toBeGreaterThanOrEqual(400);
        }
    },
  );

  const streamErrors = ({ path }: Talk, message: string, sent: Loose): readonly string[] => {
    const error = { message, code: message, request: { headers: sent.headers, body: sent.body } };
    if (path !== responses.path) return [frame({ error }), `event: error\n${frame({ message })}`];
    return [
      named('error', { code: 'server_error', message, param: null }),
      named('error', { error }),
      named('response.failed', { response: { id: 'r', status: 'failed', error, output: [] } }),
      frame({ error }),
    ];
  };

  it.each(families.filter(([, , , stream]) => stream))(
    'in the middle of a stream is a failure, logged with 502: %s',
    async (_, talk) => {
      const sent = await received(talk, true);
      for (const [, echo] of echoes)
        for (const error of streamErrors(talk, echo(sent), sent)) {
          const { begin, piece } = talk.upstream;
          const answer = await asks(talk, streamed(begin + piece + error), {
            body: body(talk) as Record<string, unknown>,
          });
          expect(answer.after.logs).toEqual([expect.objectContaining({ status_code: 502 })]);
          expect(failuresIn(answer)).not.toBe('');
        }
    },
  );
});

/** The rows of every table of the database as text. */
async function everyRow(): Promise<ReadonlyMap<string, string>> {
  const tables = await query<{ name: string }>(
    `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
     where table_schema not in ('pg_catalog', 'information_schema') and table_type = 'BASE TABLE'`,
  );
  const rows = new Map<string, string>();
  for (const { name } of tables) {
    const found = await query<{ row: string }>(`select t::text as row from ${name} t`);
    rows.set(name, found.map(({ row }) => row).join('\n'));
  }
  return rows;
}

describe('the search for canaries', () => {
  it('finds a canary in plain text, hex and base64, and finds no text that is none', () => {
    const [[place, core] = ['', '']] = planted;
    const leaksIn = finder();
    const leak = [expect.stringContaining(`${place} is in x`)];
    const bytes = Buffer.from(`ab${core}cd`);
    for (const text of [`a${core}b`, bytes.toString('hex'), bytes.toString('base64'), `knry knry${core}`])
      expect(leaksIn('x', text)).toEqual(leak);
    for (const text of ['', 'knry', core.slice(1), `knry${core.slice(5)}`])
      expect(leaksIn('x', text)).toEqual([]);
  });
});

describe('after all these requests', () => {
  it('every logged request has its payload', async () => {
    for (let tries = 0; tries < 500; tries += 1) {
      const [row] = await query<{ all: string; without: string }>(
        `select count(*) as all, count(*) filter (where not has_payload) as without from request_logs`,
      );
      if (row?.without === '0' && Number(row.all) === logged) return;
      await sleep(20);
    }
    expect(await query('select count(*)::int, has_payload from request_logs group by has_payload')).toEqual([
      { count: logged, has_payload: true },
    ]);
  });

  it('no canary is in any table of the database, and every plain text is', async () => {
    const leaksIn = finder();
    const rows = await everyRow();
    expect([...rows].flatMap(([table, text]) => leaksIn(table, text))).toEqual([]);
    const all = [...rows.values()].join('\n');
    expect(all).not.toContain(databasePassword());
    expect([...staying].filter((text) => !all.includes(text))).toEqual([]);
    expect(planted.size).toBeGreaterThan(500);
  });

  it('no canary is in any span or metric', async () => {
    const requests = gateway().log.lines.filter(({ message }) => message === 'request').length;
    const counted = (): number =>
      collector
        .metrics()
        .get('gateway.requests')
        ?.points.reduce((sum, { value }) => sum + value, 0) ?? 0;
    await until(() => counted() === requests);
    await until(() => collector.spans().filter(({ kind }) => kind === 'server').length === requests);
    expect(requests).toBeGreaterThan(100);
    expect(finder()('telemetry', collector.text())).toEqual([]);
    expect(collector.text()).toContain('"caller_tag.a"');
  });

  it('no canary is in the log', () => {
    const lines = gateway().log.lines.map((line) => JSON.stringify(line));
    expect(lines.length).toBeGreaterThan(100);
    expect(finder()('the log', lines.join('\n'))).toEqual([]);
  });

  it('no canary is in an error that a caller received', () => {
    const failures = told.filter((text) => text !== '');
    expect(failures.length).toBeGreaterThan(100);
    const leaksIn = finder();
    expect(failures.flatMap((text) => leaksIn('an error', text))).toEqual([]);
  });
});
