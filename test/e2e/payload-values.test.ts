import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { maxJsonDepth, maxParsedDepth } from '../../domain/shared/limits.ts';
import { type Answer, type Loose, scene, streamed, whole } from './scene.ts';
import { chat, embeddings, messages, responses, type Talk } from './talk.ts';

const { ask, query } = scene();

const families = [chat, messages, responses, embeddings];
const streaming = [chat, messages, responses];

const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
const mebibyte = 1024 * 1024;

/** JSON texts of values that databases reject or change; all of them fit into one payload. */
const small: Readonly<Record<string, string>> = {
  nul: '"a\\u0000b"',
  nul_key: '{"a\\u0000b":"\\u0000"}',
  high_surrogate: '"a\\ud800b"',
  low_surrogate: '"\\udc00"',
  surrogate_key: '{"\\udc00\\ud800":1}',
  pair: '"\\ud834\\udd1e"',
  looks_like_nul: '"\\\\u0000"',
  huge: '[1e400,-1e400,1E-400]',
  digits: '9'.repeat(9000),
  exponent: '1e999999',
  levels: nested(200),
  proto: '{"__proto__":{"a":1},"constructor":{"prototype":2}}',
  empty_key: '{"":""}',
};
const allSmall = `{${Object.entries(small)
  .map(([name, json]) => `"${name}":${json}`)
  .join()}}`;

/** Values that are too large for a payload. */
const large: readonly (readonly [name: string, json: string])[] = [
  ['100,000 numbers', `[${'1,'.repeat(99_999)}1]`],
  ['100,000 texts', `["${'item","'.repeat(99_999)}item"]`],
  ['8 MB of text', `"${'x'.repeat(8 * mebibyte)}"`],
  ['8 MB of U+0000', `"${'\\u0000'.repeat((8 * mebibyte) / 6)}"`],
];

const values: readonly (readonly [name: string, json: string, whole: boolean])[] = [
  ['all small values', allSmall, true],
  ...large.map(([name, json]) => [name, json, false] as const),
];

interface Stored {
  readonly request: string;
  readonly response: string;
  readonly log: Loose;
}

async function kept({ requestId }: Answer): Promise<Stored> {
  for (let tries = 0; tries < 500; tries += 1) {
    const [row] = await query<Loose>(
      `select l.*, p.request_json::text as request, p.response_json::text as response from request_logs l
       join request_log_payloads p using (request_log_id, ownership_scope_key) where l.request_id = $1`,
      [requestId],
    );
    if (row !== undefined) return { request: row.request, response: row.response, log: row };
    await sleep(20);
  }
  throw new Error('nothing was kept of the request');
}

/** PostgreSQL can parse the stored text, which the page of the log requires. */
async function expectReadable({ requestId }: Answer): Promise<void> {
  const rows = await query<{ request: string; response: string }>(
    `select request_json->>'body' as request, json_typeof(response_json) as response from request_log_payloads
     join request_logs using (request_log_id, ownership_scope_key) where request_id = $1`,
    [requestId],
  );
  expect(rows).toEqual([expect.objectContaining({ response: 'object' })]);
}

const maxBytes = 65_536;
const bound = (text: string): void => {
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxBytes);
  expect(text).not.toMatch(/(?<!\\)\\u0000|\0/);
  JSON.parse(text);
};

/** The JSON text with everything that PostgreSQL cannot store replaced by U+FFFD. */
const storable = (json: string): string =>
  JSON.stringify(JSON.parse(json)).replaceAll(/(?<!\\)\\u(?:0000|d[89a-f][0-9a-f]{2})/g, '\uFFFD');

/** Adds a member that every family passes on unchanged. */
const withMember = (json: string) => (body: string) => body.replace(/\}$/, `,"x_value":${json}}`);

/** The slow values are tested in one family only. */
const once = new Set(['100,000 texts', '8 MB of U+0000']);

const each = (talks: readonly Talk[]) =>
  talks.flatMap((talk) =>
    values
      .filter(([name]) => talk === chat || !once.has(name))
      .map(([name, json, isWhole]) => [talk.operation, name, talk, json, isWhole] as const),
  );

/** Compares without a diff, which is unreadable at many megabytes. */
const same = (got: string, sent: string): void => expect(got === sent).toBe(true);

describe('unusual values in a request', () => {
  it.each(each(families))('are stored within the limit (%s, %s)', async (_, __, talk, json, isWhole) => {
    const answer = await ask(talk, whole(talk.upstream.whole), { stream: false, spelled: withMember(json) });
    expect(answer.status).toBe(200);
    if (talk !== messages) same(answer.text, talk.upstream.whole);
    const { request, log } = await kept(answer);
    expect(log).toMatchObject({ has_payload: true, request_payload_truncated: !isWhole, status_code: 200 });
    bound(request);
    await expectReadable(answer);
    expect(answer.after.ledger).toHaveLength(1);
  });

  it('that PostgreSQL cannot store are replaced with U+FFFD, or with a text for a number; all others are kept', async () => {
    const spelled = withMember(allSmall);
    const { request } = await kept(await ask(chat, whole(chat.upstream.whole), { stream: false, spelled }));
    for (const name of [
      'nul',
      'nul_key',
      'high_surrogate',
      'low_surrogate',
      'surrogate_key',
      'looks_like_nul',
      'levels',
      'proto',
      'empty_key',
    ])
      expect(request).toContain(`"${name}":${storable(small[name] ?? '')}`);
    for (const name of ['pair', 'huge']) expect(request).toContain(`"${name}":${small[name]}`);
    for (const name of ['digits', 'exponent'])
      expect(request.includes(`"${name}":"${small[name]}"`) ? '' : name).toBe('');
  });

  it('that are nested too deeply are refused with 400, and truncated in the log row', async () => {
    const answer = await ask(chat, whole('{}'), { spelled: withMember(nested(maxJsonDepth + 10)) });
    expect(answer.status).toBe(400);
    const { request, log } = await kept(answer);
    bound(request);
    expect(log).toMatchObject({ has_payload: true, status_code: 400, request_payload_truncated: true });
    expect(request).toContain('[TRUNCATED: nested too deeply]');
  });
});

describe('unusual values in a response', () => {
  it.each(each(families))('are stored within the limit (%s, %s)', async (_, __, talk, json, isWhole) => {
    const body = withMember(json)(talk.upstream.whole);
    const answer = await ask(talk, whole(body), { stream: false });
    expect(answer.status).toBe(200);
    if (talk !== messages) same(answer.text, body);
    const { response, log } = await kept(answer);
    const truncated = talk === messages ? false : !isWhole;
    expect(log).toMatchObject({ has_payload: true, response_payload_truncated: truncated, status_code: 200 });
    bound(response);
    await expectReadable(answer);
    expect(answer.after.ledger).toHaveLength(1);
  });

  it.each(families.slice(0, 3).map((talk) => [talk.operation, talk] as const))(
    'that PostgreSQL cannot store are replaced with U+FFFD in the text, also if it is translated: %s',
    async (_, talk) => {
      for (const name of ['nul', 'high_surrogate', 'low_surrogate', 'pair', 'looks_like_nul']) {
        const body = talk.upstream.whole.replace('"all"', () => small[name] ?? '');
        const { response } = await kept(await ask(talk, whole(body), { stream: false }));
        const { output, content, choices } = JSON.parse(response).body;
        const text = (output?.[0].content ?? content)?.[0].text ?? choices[0].message.content;
        expect(text).toBe(JSON.parse(storable(small[name] ?? '')));
      }
    },
  );

  it('that are nested deeper than a payload allows are returned unchanged and truncated in the log row', async () => {
    const body = withMember(nested(maxParsedDepth - 10))(chat.upstream.whole);
    const answer = await ask(chat, whole(body), { stream: false });
    same(answer.text, body);
    const { response, log } = await kept(answer);
    bound(response);
    expect(response).toContain('[TRUNCATED: nested too deeply]');
    expect(log).toMatchObject({ response_payload_truncated: true });
  });
});

describe('unusual values in the events of a stream', () => {
  /** The upstream's piece of text with one additional member. */
  const piece = ({ upstream }: Talk, json: string): string =>
    upstream.piece.replace(/\}\n\n$/, `,"x_value":${json}}\n\n`);

  it.each(each(streaming))('are stored within the limit (%s, %s)', async (_, __, talk, json, isWhole) => {
    const { begin, finish, usage, done } = talk.upstream;
    const sent = begin + piece(talk, json) + finish + usage + done;
    const answer = await ask(talk, streamed(sent));
    expect(answer.status).toBe(200);
    if (talk === chat) same(answer.text, sent);
    if (talk === responses) same(answer.text, `${sent}data: [DONE]\n\n`);
    if (talk === messages) expect(answer.text).toContain('piece');
    const { response, log } = await kept(answer);
    const truncated = talk === messages ? false : !isWhole;
    expect(log).toMatchObject({
      has_payload: true,
      response_payload_truncated: truncated,
      total_tokens: '30',
    });
    bound(response);
    await expectReadable(answer);
    expect(JSON.parse(response)).toMatchObject({ stream: true, error: null });
    expect(answer.after.ledger).toEqual([expect.objectContaining({ total_tokens: '30' })]);
  });
});

describe('every digit and the order of keys', () => {
  const exact =
    '{"b":9007199254740993,"1":0.10,"a":[1e400,-0,1.0,{"10":"\\u00e9","9":{"2":1,"1":2}}],"password":1,"again":1}';
  const redacted = exact.replace('"password":1', '"password":"[REDACTED]"');
  const plain = exact.replace('"password":1,', '');

  it.each(families.map((talk) => [talk.operation, talk] as const))(
    'are kept in the stored request, and in the stored response if it is not translated: %s',
    async (_, talk) => {
      for (const [sent, stored] of [
        [plain, plain],
        [exact, redacted],
      ] as const) {
        const replay = whole(withMember(sent)(talk.upstream.whole));
        const answer = await ask(talk, replay, { stream: false, spelled: withMember(sent) });
        const { request, response } = await kept(answer);
        expect(request).toContain(`"x_value":${stored}`);
        if (talk !== messages) expect(response).toContain(`"x_value":${stored}`);
      }
    },
  );

  it.each([
    [chat.operation, chat],
    [responses.operation, responses],
  ] as const)('are kept in the stored events of a stream: %s', async (_, talk) => {
    const { begin, piece, finish, usage, done } = talk.upstream;
    const told = piece.replace(/\}\n\n$/, `,"x_value":${exact}}\n\n`);
    const { response } = await kept(await ask(talk, streamed(begin + told + finish + usage + done)));
    expect(response).toContain(`"x_value":${redacted}`);
  });
});

describe('unusual values in the error message of an upstream', () => {
  it.each(['nul', 'high_surrogate', 'low_surrogate', 'pair', 'looks_like_nul'])(
    'are stored within the limit: %s',
    async (name) => {
      const refusal = whole(`{"error":{"message":${small[name]}}}`, { status: 422 });
      const answer = await ask(chat, refusal, { stream: false });
      expect(answer.status).toBe(422);
      const { response, log } = await kept(answer);
      bound(response);
      expect(log).toMatchObject({ has_payload: true, status_code: 422 });
      expect(answer.after.attempts).toHaveLength(1);
    },
  );
});
