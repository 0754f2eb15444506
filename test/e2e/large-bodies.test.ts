import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { maxEventLoopBodyBytes, maxEventLoopValues } from '../../domain/shared/limits.ts';
import { basicConfig } from '../support/gateway.ts';
import { scene, streamed, whole } from './scene.ts';
import { chat, embeddings, messages, responses } from './talk.ts';

const maxValues = 200_000;
const { ask, query } = scene((url, key) =>
  basicConfig(url, key, { more: { server: { bind: '127.0.0.1:0', body_max_values: maxValues } } }),
);

const families = { chat, messages, responses, embeddings };
/** Bodies over the limits of what is processed in the event loop, in bytes and in values. */
const large = {
  bytes: { metadata: { padding: 'a'.repeat(maxEventLoopBodyBytes) } },
  values: { metadata: { padding: Array.from({ length: maxEventLoopValues + 1 }, () => ({})) } },
} as const;

const payloadOf = async (requestId: string) => {
  const [row] = await query<{ text: string; response: string }>(
    `select request_json::text as text, response_json::text as response
     from request_logs join request_log_payloads using (request_log_id, ownership_scope_key) where request_id = $1`,
    [requestId],
  );
  return row;
};

/** Waits for a payload, which is stored after the answer was sent. */
async function until<A>(look: () => Promise<A | undefined>): Promise<A> {
  for (;;) {
    const seen = await look();
    if (seen !== undefined) return seen;
    await sleep(20);
  }
}

describe.each(Object.entries(families))('a large body of %s', (_, talk) => {
  it.each(Object.entries(large))(
    'by its %s is served, and its payload is stored with the secret redacted',
    async (__, more) => {
      const secret = randomUUID();
      const body = { ...more, api_key: secret };
      const answer = await ask(talk, whole(talk.upstream.whole), { stream: false, body });
      expect(answer.status).toBe(200);
      expect(answer.upstream?.body['model']).toBe('simulated-fast');
      // Of a messages body only the members that chat has are sent upstream.
      expect(answer.upstream?.body['metadata']).toEqual(talk === messages ? undefined : more.metadata);
      const stored = await until(async () => (await payloadOf(answer.requestId)) ?? undefined);
      expect(stored.text.includes('"api_key":"[REDACTED]"')).toBe(true);
      expect(stored.text.includes(secret)).toBe(false);
    },
  );

  it('with a field of the wrong type is refused with 400 and names the field', async () => {
    const answer = await ask(talk, whole(talk.upstream.whole), { body: { ...large.bytes, model: 7 } });
    expect(answer.status).toBe(400);
    expect(answer.text).toContain('model');
    expect(answer.upstream).toBeUndefined();
  });

  it('with too many JSON values is refused with 400 and names the limit', async () => {
    const body = { metadata: { padding: Array.from({ length: maxValues + 1 }, () => 0) } };
    const answer = await ask(talk, whole(talk.upstream.whole), { body });
    expect(answer.status).toBe(400);
    expect(answer.text).toContain(`more than ${maxValues} JSON values`);
    expect(answer.upstream).toBeUndefined();
    expect(answer.after.logs).toMatchObject([{ status_code: 400, error_code: 'invalid_request' }]);
  });
});

const bulk = 'b'.repeat(maxEventLoopBodyBytes);

/** Answers over the limits of what is processed in the event loop, and a text that the caller must receive. */
const answers = [
  [chat, chat.upstream.whole.replace('"all"', `"${bulk}"`), `"content":"${bulk}"`],
  [messages, messages.upstream.whole.replace('"all"', `"${bulk}"`), `"text":"${bulk}"`],
  [responses, responses.upstream.whole.replace('"all"', `"${bulk}"`), `"text":"${bulk}"`],
  [
    embeddings,
    embeddings.upstream.whole.replace('[0.5]', `[${'0.25,'.repeat(maxEventLoopBodyBytes / 5)}0.5]`),
    '0.25,0.5]',
  ],
  [
    embeddings,
    embeddings.upstream.whole.replace('[0.5]', `[${'0.125,'.repeat(2 * maxEventLoopValues)}0.5]`),
    '0.125,0.5]',
  ],
] as const;

describe('a large answer', () => {
  it.each(answers.map(([talk, ...more]) => [talk.operation, talk, ...more] as const))(
    'to %s is returned and priced, and its payload is stored truncated and without the secret',
    async (_name, talk, text, told) => {
      const secret = randomUUID();
      const answer = await ask(talk, whole(text.replace(/^{/, `{"api_key":"${secret}",`)), { stream: false });
      expect(answer.status).toBe(200);
      expect(answer.text.includes(told)).toBe(true);
      expect(answer.after.ledger).toMatchObject([{ pricing_status: 'priced', prompt_tokens: '10' }]);
      const stored = await until(async () => (await payloadOf(answer.requestId)) ?? undefined);
      expect(stored.response.includes('[TRUNCATED')).toBe(true);
      expect(stored.response.includes(secret)).toBe(false);
    },
  );

  it.each([
    ['is no JSON', 'x'.repeat(2 * maxEventLoopBodyBytes)],
    ['is an error', JSON.stringify({ error: { message: `no ${bulk}` } })],
  ])('that %s is answered with 502 and logged as upstream_error', async (_what, text) => {
    const answer = await ask(chat, whole(text), { stream: false });
    expect(answer.status).toBe(502);
    expect(answer.text.length).toBeLessThan(10_000);
    expect(answer.after.ledger).toEqual([]);
    expect(answer.after.logs).toMatchObject([{ error_code: 'upstream_error' }]);
  });
});

/** Some upstreams begin with the same ids in each answer, and messages callers find a result by the id alone. */
describe('a call with the id of an earlier turn', () => {
  const call = { index: 0, id: 'f:0', type: 'function', function: { name: 'f', arguments: '{}' } };
  const answered = (member: 'message' | 'delta', content: string) => ({
    choices: [
      { index: 0, [member]: { role: 'assistant', content, tool_calls: [call] }, finish_reason: 'tool_calls' },
    ],
  });
  const bodyWith = (text: string) => ({
    messages: [
      { role: 'user', content: text },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'f:0', name: 'f', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'f:0', content: 'Fine.' }] },
    ],
  });

  it.each([
    ['small', 'b'],
    ['large', bulk],
  ])('gets an id of its own, whole and streamed (%s)', async (_size, text) => {
    const body = bodyWith(text);
    const chunks = `data: ${JSON.stringify(answered('delta', text))}\n\ndata: [DONE]\n\n`;
    const answers = [
      await ask(messages, whole(answered('message', text)), { stream: false, body }),
      await ask(messages, streamed(chunks), { body }),
    ];
    for (const answer of answers) expect(answer.text).toMatch(/"id":"toolu_[0-9a-f]{24}_0","name":"f"/);
  });
});
