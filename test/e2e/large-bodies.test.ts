import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { maxBodyBytesHere, maxValuesHere } from '../../domain/shared/limits.ts';
import { basicConfig } from '../support/gateway.ts';
import { scene, whole } from './scene.ts';
import { chat, embeddings, messages, responses } from './talk.ts';

const maxValues = 200_000;
const { ask, query } = scene((url, key) =>
  basicConfig(url, key, { more: { server: { bind: '127.0.0.1:0', body_max_values: maxValues } } }),
);

const families = { chat, messages, responses, embeddings };
/** Over what is worked on in the event loop, in bytes and in values. */
const large = {
  bytes: { metadata: { padding: 'a'.repeat(maxBodyBytesHere) } },
  values: { metadata: { padding: Array.from({ length: maxValuesHere + 1 }, () => ({})) } },
} as const;

const payloadOf = async (requestId: string) => {
  const [row] = await query<{ text: string }>(
    `select request_json::text as text
     from request_logs join request_log_payloads using (request_log_id) where request_id = $1`,
    [requestId],
  );
  return row;
};

/** Payloads are made behind the answer. */
async function until<A>(look: () => Promise<A | undefined>): Promise<A> {
  for (;;) {
    const seen = await look();
    if (seen !== undefined) return seen;
    await sleep(20);
  }
}

describe.each(Object.entries(families))('a large body of %s', (_, talk) => {
  it.each(Object.entries(large))('by its %s is served and logged as a small one is', async (__, more) => {
    const secret = randomUUID();
    const body = { ...more, api_key: secret };
    const answer = await ask(talk, whole(talk.upstream.whole), { stream: false, body });
    expect(answer.status).toBe(200);
    expect(answer.upstream?.body['model']).toBe('simulated-fast');
    // Of a messages body only what chat has words for goes on.
    expect(answer.upstream?.body['metadata']).toEqual(talk === messages ? undefined : more.metadata);
    const stored = await until(async () => (await payloadOf(answer.requestId)) ?? undefined);
    expect(stored.text.includes('"api_key":"[REDACTED]"')).toBe(true);
    expect(stored.text.includes(secret)).toBe(false);
  });

  it('is refused by the field that is wrong, as a small one is', async () => {
    const answer = await ask(talk, whole(talk.upstream.whole), { body: { ...large.bytes, model: 7 } });
    expect(answer.status).toBe(400);
    expect(answer.text).toContain('model');
    expect(answer.upstream).toBeUndefined();
  });

  it('is refused with the bound where it holds more values than it may', async () => {
    const body = { metadata: { padding: Array.from({ length: maxValues + 1 }, () => 0) } };
    const answer = await ask(talk, whole(talk.upstream.whole), { body });
    expect(answer.status).toBe(400);
    expect(answer.text).toContain(`more than ${maxValues} JSON values`);
    expect(answer.upstream).toBeUndefined();
    expect(answer.after.logs).toMatchObject([{ status_code: 400, error_code: 'invalid_request' }]);
  });
});
