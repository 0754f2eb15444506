import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import {
  maxErrorMessageChars,
  maxModelKeyChars,
  maxNamedKeyChars,
  maxUserAgentChars,
} from '../../domain/shared/limits.ts';
import { basicConfig, type ConfigFile } from '../support/gateway.ts';
import { type Asked, scene, streamed, textOf, whole } from './scene.ts';
import { chat, messages, responses, type Talk, wholeStream } from './talk.ts';

/** Credentials of the file; each begins with a letter that its hex digits do not have. */
const token = `q${randomBytes(20).toString('hex')}`;
const tenant = `w${randomBytes(20).toString('hex')}`;

const config = (url: string, key: string): ConfigFile =>
  basicConfig(url, key, {
    provider: {
      auth: { mode: 'bearer', token },
      default_headers: { 'x-tenant': '${CUT_TENANT}' },
    },
  });

const { ask, open, query, gateway } = scene(config, { CUT_TENANT: tenant });

const streamMaxEvents = 128;

/** Texts that are truncated, their maximum length, and how a request carries such a text. */
const boundedTexts: readonly (readonly [name: string, chars: number, asked: (text: string) => Asked])[] = [
  ['User-Agent', maxUserAgentChars, (text) => ({ headers: { 'user-agent': text } })],
  ['model_key', maxModelKeyChars, (text) => ({ body: { model: text } })],
  [
    'a repeated key of the body',
    maxNamedKeyChars,
    (text) => ({ spelled: (body) => body.replace(/\}$/, `,"${text}":1,"${text}":2}`) }),
  ],
  [
    'a repeated key below the top of the body',
    maxNamedKeyChars,
    (text) => ({ spelled: (body) => body.replace(/\}$/, `,"tools":[{"${text}":1,"${text}":2}]}`) }),
  ],
];

/** How many characters of the secret are before the cut. */
const halves = [4, 8, 20, token.length - 1];

/** All rows of a request and the whole log, as text. */
async function keptOf(requestId: string): Promise<string> {
  for (let tries = 0; tries < 500; tries += 1) {
    const rows = await query<{ readonly has_payload: boolean }>(
      `select l.*, p.request_json::text, p.response_json::text,
         (select json_agg(a) from request_log_attempts a where a.request_log_id = l.request_log_id
           and a.ownership_scope_key = l.ownership_scope_key) as attempts
       from request_logs l left join request_log_payloads p using (request_log_id, ownership_scope_key)
       where l.request_id = $1`,
      [requestId],
    );
    if (rows[0]?.has_payload === true) return JSON.stringify(rows) + JSON.stringify(gateway().log.lines);
    await sleep(20);
  }
  throw new Error('nothing was kept of the request');
}

const expectNothingOf = (text: string, secret: string): void => {
  expect(text).toContain('[REDACTED]');
  for (let chars = 8; chars <= secret.length; chars += 1) expect(text).not.toContain(secret.slice(0, chars));
};

describe('no part of a secret remains at the end of a truncated text', () => {
  it.each(boundedTexts)('%s', async (_, chars, asked) => {
    for (const secret of [token, tenant])
      for (const half of halves) {
        const text = `${'a'.repeat(chars - half)}${secret}${'b'.repeat(40)}`;
        const answer = await ask(chat, whole(chat.upstream.whole), { stream: false, ...asked(text) });
        expectNothingOf(`${await keptOf(answer.requestId)}${answer.text}[REDACTED]`, secret);
      }
  });

  it('the error message of an upstream', async () => {
    for (const half of halves) {
      const message = `${'a'.repeat(maxErrorMessageChars - half)}${token}${'b'.repeat(40)}`;
      const answer = await ask(chat, whole({ error: { message } }, { status: 400 }), { stream: false });
      expectNothingOf(`${await keptOf(answer.requestId)}${answer.text}[REDACTED]`, token);
    }
  });

  it('the request id in a log line', async () => {
    for (const half of halves) {
      const id = `${randomBytes(8).toString('hex')}${'-'.repeat(112 - half)}${token}`;
      const { response } = await open(chat, whole(chat.upstream.whole), {
        stream: false,
        headers: { 'x-request-id': id },
      });
      await response.text();
      const lines = gateway().log.lines.filter((line) => JSON.stringify(line).includes(id.slice(0, 16)));
      expect(lines).not.toEqual([]);
      expect(JSON.stringify(lines)).not.toContain(token.slice(0, 8));
    }
  });

  const piece = ({ upstream }: Talk, text: string): string =>
    upstream.piece.replace('"piece"', JSON.stringify(text));

  /** A stream with more events than are stored; the last `ahead` stored events hold the beginning of a secret. */
  const cutStream = ({ upstream, ...talk }: Talk, pieces: readonly string[], ahead: number): string => {
    const { begin, finish, usage, done } = upstream;
    const plain = Array.from({ length: streamMaxEvents + 20 }, () => 'a ');
    // A translated stream begins with one more event than the upstream's.
    const begun = talk.operation === 'messages' ? 2 : 1;
    const texts = [...plain.slice(0, streamMaxEvents - begun - ahead), ...pieces, ...plain];
    const told = texts.map((text) => piece({ ...talk, upstream }, text)).join('');
    return begin + told + finish + usage + done;
  };

  /** The text of the stored events of a stream. */
  const keptText = async (talk: Talk, requestId: string): Promise<string> => {
    const [row] = await query<{ readonly events: readonly unknown[] }>(
      `select response_json->'events' as events from request_log_payloads
       join request_logs using (request_log_id, ownership_scope_key) where request_id = $1`,
      [requestId],
    );
    const events = (row?.events ?? []).map((event) => ({ event: undefined, data: JSON.stringify(event) }));
    expect(events).toHaveLength(streamMaxEvents);
    return textOf(talk, { events });
  };

  it.each([
    ['letters', () => token.split(''), (half: number) => half],
    ['tokens', () => token.match(/.{1,3}/g) ?? [], (half: number) => Math.ceil(half / 3)],
    ['halves', (half: number) => [token.slice(0, half), token.slice(half)], () => 1],
  ] as const)(
    'the last stored event of a stream, with a secret split into %s',
    async (_, piecesOf, ahead) => {
      for (const talk of [chat, messages, responses])
        for (const half of [8, 20]) {
          const answer = await ask(talk, streamed(cutStream(talk, piecesOf(half), ahead(half))));
          expectNothingOf(await keptOf(answer.requestId), token);
          expectNothingOf(await keptText(talk, answer.requestId), token);
        }
    },
  );
});

describe('a `${NAME}` value in `default_headers`', () => {
  it.each([
    ['whole', chat, false],
    ['translated', messages, false],
    ['streamed', responses, true],
  ] as const)('is not stored if an upstream echoes it: %s', async (_, talk, stream) => {
    const echo = (text: string): string => text.replace(/"(?:all|piece)"/g, `"tenant ${tenant} known"`);
    const sent = stream ? streamed(echo(wholeStream(talk))) : whole(echo(talk.upstream.whole));
    const answer = await ask(talk, sent, { stream });
    expect(answer.status).toBe(200);
    expect(answer.text).toContain(tenant);
    expectNothingOf(await keptOf(answer.requestId), tenant);
  });
});
