import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { withDatabase } from '../support/database.ts';
import { aKey, basicConfig, queries, startGateway, type TestGateway } from '../support/gateway.ts';
import { type Replay, type ReplayUpstream, startReplayUpstream } from '../support/replay-upstream.ts';
import { rawExchange } from './raw-http.ts';
import { streamed, whole } from './scene.ts';
import { embeddings, type Talk, talks, wholeStream } from './talk.ts';
import { eventually } from './traces.ts';

const database = withDatabase();
const query = queries(database.url);
const key = aKey();
let replayed: Replay;
let upstream: ReplayUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startReplayUpstream(() => replayed);
  gateway = await startGateway(basicConfig(upstream.url, key), database.url());
});
afterAll(async () => {
  await gateway?.stop();
  await upstream?.close();
});

const failed = ({ upstream: { begin, error } }: Talk): string => begin + error;

/** Every kind of response of a family. */
const answers = (talk: Talk): readonly (readonly [what: string, stream: boolean, replay: Replay])[] => [
  ['a non-streamed response', false, whole(talk.upstream.whole)],
  ['an upstream error', false, whole({ error: { message: 'no' } }, { status: 400 })],
  ...(talk === embeddings
    ? []
    : ([
        ['a stream', true, streamed(wholeStream(talk))],
        ['a stream that fails', true, streamed(failed(talk))],
      ] as const)),
];
const cases = [...talks, embeddings].flatMap((talk) =>
  answers(talk).map(([what, stream, replay]) => [talk.operation, what, { talk, stream, replay }] as const),
);

/** Bytes that a header may contain, as latin1. An `x` at both ends, where blanks are not part of a value. */
const idBytes = fc
  .uint8Array({ minLength: 1, maxLength: 40 })
  .map((bytes) =>
    Buffer.from(bytes)
      .toString('latin1')
      .replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '~'),
  )
  .map((text) => `x${text}x`);

let counted = 0;
/** An id that no other request has, so that it finds the rows. */
const unique = (id: string): string => {
  counted += 1;
  return `${id}-${counted}`;
};

describe('an x-request-id beyond ASCII is returned byte for byte, and is stored as the same text', () => {
  const asked = async (talk: Talk, stream: boolean, replay: Replay, requestId: string) => {
    replayed = replay;
    const answer = await rawExchange(gateway.url, {
      path: talk.path,
      headers: [
        ['authorization', `Bearer ${key}`],
        ['content-type', 'application/json'],
        ['x-request-id', requestId],
      ],
      body: JSON.stringify(talk.body(stream)),
    });
    expect(answer.headers).toMatchObject({ 'x-request-id': requestId, 'request-id': requestId });
    const [row] = await eventually(async () => {
      const rows = await query('select status_code from request_logs where request_id = $1', [requestId]);
      return rows.length === 0 ? undefined : rows;
    });
    expect(row?.['status_code']).toBe(replay.body === failed(talk) ? 502 : answer.status);
  };

  it.each(cases)('for %s: %s', async (_family, _what, { talk, stream, replay }) => {
    const utf8 = Buffer.from('caf\u00e9 \u{1f600} \u4e2d', 'utf8').toString('latin1');
    await asked(talk, stream, replay, unique(utf8));
    await asked(talk, stream, replay, unique('caf\u00e9 \u00ff\u0080'));
  });

  it('for any bytes that a header may contain', async () => {
    await fc.assert(
      fc.asyncProperty(idBytes, fc.constantFrom(...cases), async (id, [, , { talk, stream, replay }]) => {
        await asked(talk, stream, replay, unique(id));
      }),
      { numRuns: 40 },
    );
  });

  it.each([
    ['no key', '/v1/chat/completions'],
    ['an unknown path', '/v1/nothing'],
    ['a wrong method', '/healthz'],
    ['the admin API', '/api/v1/auth/logout'],
  ])('and is also returned if a request is refused: %s', async (_what, path) => {
    const requestId = unique('\u00c3\u00a9 \u00ff');
    const { headers } = await rawExchange(gateway.url, { path, headers: [['x-request-id', requestId]] });
    expect(headers).toMatchObject({ 'x-request-id': requestId, 'request-id': requestId });
  });
});
