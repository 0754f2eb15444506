import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { basicConfig, type ConfigFile } from '../support/gateway.ts';
import { type GoogleFakes, startGoogleFakes } from '../support/google-fakes.ts';
import {
  type Answer,
  expectCompleteStream,
  expectRefused,
  expectSold,
  json,
  priced,
  scene,
  streamed,
  whole,
} from './scene.ts';
import { chat, messages, responses } from './talk.ts';
import { eventually } from './traces.ts';

const audience = 'https://svc-x.a.run.app';
const file = path.join(tmpdir(), `cloud-run-${randomUUID()}.json`);
let fakes: GoogleFakes;

beforeAll(async () => {
  fakes = await startGoogleFakes();
  process.env['GCE_METADATA_HOST'] = fakes.metadataHost;
  await fakes.writeAccount(file);
});
afterAll(async () => {
  delete process.env['GCE_METADATA_HOST'];
  await fakes.close();
  await rm(file);
});
beforeEach(() => {
  fakes.mood = {};
});

/** Provider id, its `auth`, and further members of its route; each model has the provider's name. */
const providers: readonly (readonly [id: string, auth: object, route?: object])[] = [
  ['adc', { mode: 'adc', audience }],
  ['file', { mode: 'service_account', audience, credentials_path: file }],
  ['static', { mode: 'bearer', token: 'a-static-id-token-0123456789' }],
  [
    'behind',
    { mode: 'adc', audience, auth_header: 'x_serverless_authorization' },
    { extra_headers: { Authorization: 'Bearer of-the-application' } },
  ],
  [
    'vllm',
    { mode: 'adc', audience },
    { extra_body: { chat_template_kwargs: { enable_thinking: false }, skip_special_tokens: false } },
  ],
  ['cold', { mode: 'adc', audience }],
  ['dead', { mode: 'adc', audience }],
];

function config(url: string, key: string): ConfigFile {
  const base = basicConfig(url, key);
  const prices = (model: string) => ({
    provider: model,
    model,
    input_usd_per_million: '0.15',
    output_usd_per_million: '0.60',
  });
  return {
    ...base,
    providers: providers.map(([id, auth]) => ({ id, type: 'cloud_run_compat', base_url: url, auth })),
    models: providers.map(([id, , route]) => ({
      id,
      routes: [{ provider: id, upstream_model: id, ...route }],
    })),
    pricing: { overrides: providers.map(([id]) => prices(id)) },
  };
}

const { ask, open, gateway, upstream, query } = scene(config);

const tokenIn = (answer: Answer, header = 'authorization'): string =>
  String(answer.upstream?.headers[header]).replace('Bearer ', '');

const { upstream: said } = chat;
const stream = streamed(said.begin + said.piece + said.finish + said.usage + said.done);

describe('cloud_run_compat, the compat adapter with ID-token authentication', () => {
  it.each(['adc', 'file'])('sends an ID token with a stream of chat completions: %s', async (model) => {
    const answer = await ask(chat, stream, { body: { model } });
    expectCompleteStream(chat, answer, priced);
    expect(fakes.claimsOf(tokenIn(answer))).toMatchObject({ aud: audience });
    expect(answer.upstream?.path).toBe('/v1/chat/completions');
  });

  it.each([
    ['chat completions', chat, said.whole],
    ['messages', messages, said.whole],
    ['responses', responses, responses.upstream.whole],
  ])('sends an ID token with %s that are not streamed', async (_, talk, body) => {
    const answer = await ask(talk, whole(body), { stream: false, body: { model: 'adc' } });
    expectSold(answer, priced);
    expect(fakes.claimsOf(tokenIn(answer))).toMatchObject({ aud: audience });
  });

  it('sends an ID token with embeddings', async () => {
    const body =
      '{"object":"list","data":[{"object":"embedding","index":0,"embedding":"AACAPw=="}],"usage":{"prompt_tokens":2}}';
    const talk = {
      ...chat,
      path: '/v1/embeddings',
      body: () => ({ input: 'Hi', encoding_format: 'base64' }),
    };
    const answer = await ask(talk, whole(body), { stream: false, body: { model: 'adc' } });
    expect([answer.status, answer.text]).toEqual([200, body]);
    expect(fakes.claimsOf(tokenIn(answer))).toMatchObject({ aud: audience });
  });

  it('with x_serverless_authorization leaves the application’s own Authorization intact', async () => {
    const answer = await ask(chat, stream, { body: { model: 'behind' } });
    expect(fakes.claimsOf(tokenIn(answer, 'x-serverless-authorization'))).toMatchObject({ aud: audience });
    expect(tokenIn(answer)).toBe('of-the-application');
  });

  it('sends the static token with `bearer` auth', async () => {
    expect(tokenIn(await ask(chat, stream, { body: { model: 'static' } }))).toBe(
      'a-static-id-token-0123456789',
    );
  });

  it('sends fields of the serving software from `extra_body`, merged over the caller’s', async () => {
    const body = { model: 'vllm', chat_template_kwargs: { enable_thinking: true, other: 1 } };
    const { upstream: sent } = await ask(chat, stream, { body });
    expect(sent?.body).toMatchObject({
      chat_template_kwargs: { enable_thinking: false, other: 1 },
      skip_special_tokens: false,
    });
  });

  it('fetches one token for 50 concurrent requests to a cold gateway', async () => {
    fakes.mood = { delayMs: 50 };
    const before = fakes.requests.length;
    const opened = await Promise.all(
      Array.from({ length: 50 }, () => open(chat, stream, { body: { model: 'cold' } })),
    );
    for (const { response } of opened) expect(await response.text()).toContain('[DONE]');
    expect(fakes.requests.length - before).toBe(1);
  });
});

describe('if no token can be obtained', () => {
  it('the caller gets a 502 that says why, with one attempt, and the upstream is not called', async () => {
    fakes.mood = { refusal: { status: 404, body: 'No service account.' } };
    for (const stream of [true, false]) {
      const answer = await ask(chat, whole('{}'), { stream, body: { model: 'dead' } });
      expectRefused(chat, answer, 502, stream ? 'stream_start_error' : 'provider_error');
      expect(answer.upstream).toBeUndefined();
      expect(json(answer.text).error.message).toBe(
        'The gateway could not obtain credentials for the upstream: the token service answered with status 404.',
      );
    }
    expect(gateway().log.lines).toContainEqual({
      level: 'warn',
      fields: {},
      message: 'provider dead: the ID token could not be renewed: the token service answered with status 404',
    });
  });
});

it('no token is in an error, a log line or a row, even if the upstream quotes it in an error', async () => {
  for (const model of ['adc', 'file', 'behind']) {
    const { upstream: sent } = await ask(chat, stream, { body: { model } });
    const token = String(sent?.headers['x-serverless-authorization'] ?? sent?.headers.authorization).slice(7);
    const refusal = whole(
      { error: { message: `The token ${token} is not for this service.` } },
      { status: 400 },
    );
    const answer = await ask(chat, refusal, { body: { model } });
    expect(answer.status).toBe(400);
    expect(json(answer.text).error.message).toMatch(/^The token \S{1,20} is not for this service\.$/);
    expect(answer.after.attempts).toMatchObject([
      { error_detail: expect.stringMatching(/^The token \S{1,20} is not for this service\.$/) },
    ]);
    expect(JSON.stringify(answer.after)).not.toContain(token);
  }
  const kept = JSON.stringify(gateway().log.lines);
  for (const token of fakes.tokens) expect(kept).not.toContain(token);
  expect(upstream().requests().length).toBeGreaterThan(0);
});

it('no token is in the stored payload of an answer that contains it', async () => {
  for (const model of ['adc', 'file', 'behind'])
    for (const isStream of [true, false]) {
      const { upstream: sent } = await ask(chat, stream, { body: { model } });
      const token = String(sent?.headers['x-serverless-authorization'] ?? sent?.headers.authorization).slice(
        7,
      );
      expect(fakes.tokens).toContain(token);
      const repeating = (text: string): string =>
        text.replaceAll(/"(?:piece|all)"/g, `"said with ${token} it was"`);
      const reply = isStream
        ? streamed(repeating(said.begin + said.piece + said.finish + said.usage + said.done))
        : whole(repeating(said.whole));
      const answer = await ask(chat, reply, { stream: isStream, body: { model } });
      expect(answer.text).toContain(token);
      const payload = await eventually(async () => {
        const [row] = await query<{ readonly json: string }>(
          `select p.response_json::text as json from request_logs l join request_log_payloads p
           using (request_log_id, ownership_scope_key) where l.request_id = $1`,
          [answer.requestId],
        );
        return row?.json;
      });
      expect(payload).toContain('said with [REDACTED] it was');
      expect(payload).not.toContain(token.slice(0, 12));
    }
});
