import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import type { UpstreamCall } from '../../application/ports/upstream.ts';
import type { ApiFamily } from '../../domain/routing/model.ts';
import type { CloudAProvider } from '../../infrastructure/config/provider-config.ts';
import { cloudA } from '../../infrastructure/providers/cloud-a/index.ts';
import type { Dialect } from '../../infrastructure/providers/provider.ts';
import { aRoute } from '../support/arbitraries/routing.ts';

const config = (over: Partial<CloudAProvider>): CloudAProvider => ({
  kind: 'cloud_a_platform',
  id: 'a',
  pricingProviderId: 'a',
  projectId: 'p-1',
  location: 'europe-west4',
  auth: { mode: 'bearer', token: 'token-0123456789' },
  apiHost: undefined,
  defaultHeaders: { 'X-Goog-User-Project': 'bill' },
  timeouts: { connectMs: 1, firstByteMs: 1, idleMs: 1, totalMs: 1 },
  ...over,
});

const connected = (over: Partial<CloudAProvider> = {}) =>
  cloudA.connect(config(over), {
    sanitise: (message) => message,
    digest: (text) => text,
    conceal: () => undefined,
    warn: () => undefined,
  });

const callOf = (over: Partial<UpstreamCall> & { readonly model?: string } = {}): UpstreamCall => ({
  route: { ...aRoute(), upstreamModel: over.model ?? 'google/gemini-2.5-pro' },
  family: 'chat_completions',
  stream: false,
  body: '{"model":"m","messages":[{"role":"user","content":"Hi"}]}',
  answer: { id: 'chatcmpl-1', model: 'asked', createdSecs: 1 },
  betas: [],
  ...over,
});

function dialectOf(call: UpstreamCall, over: Partial<CloudAProvider> = {}): Dialect {
  const dialect = connected(over).speak(call)?.dialect;
  if (dialect === undefined || !('encode' in dialect)) throw new Error('no dialect');
  return dialect;
}

function requestOf(call: UpstreamCall) {
  const request = dialectOf(call).encode(call);
  if (E.isLeft(request)) throw new Error(request.left.message);
  return request.right;
}

const base = '/v1/projects/p-1/locations/europe-west4/publishers/google/models';

describe('Google-published models use generate-content and stream-generate-content', () => {
  it('media outside the `gs_buckets` of the route are rejected', () => {
    const content = [{ type: 'image_url', image_url: 'gs://others/a.png' }];
    const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] });
    const call = callOf({ body });
    const open = (gs_buckets: readonly string[]) => ({
      ...call,
      route: { ...call.route, compatibility: { cloud_a: { gs_buckets } } },
    });
    expect(E.isRight(dialectOf(call).encode(call))).toBe(true);
    expect(E.isRight(dialectOf(call).encode(open(['others'])))).toBe(true);
    expect(dialectOf(call).encode(open(['media']))).toMatchObject({
      left: { code: 'invalid_request', param: 'messages[0].content[0].image_url' },
    });
  });

  it('the path names the project, location, publisher and model', () => {
    expect(requestOf(callOf()).path).toBe(`${base}/gemini-2.5-pro:generateContent`);
    expect(requestOf(callOf({ stream: true })).path).toBe(
      `${base}/gemini-2.5-pro:streamGenerateContent?alt=sse`,
    );
  });

  it.each([
    ['google/../x?y#z', '..%2Fx%3Fy%23z'],
    ['google/a b', 'a%20b'],
    ['google/ü%', '%C3%BC%25'],
  ])('the model %s is encoded as one path segment', (model, segment) => {
    expect(requestOf(callOf({ model })).path).toBe(`${base}/${segment}:generateContent`);
  });

  it.each<[string, Partial<CloudAProvider>, string]>([
    ['a location', {}, 'https://europe-west4-aiplatform.googleapis.com/'],
    ['global', { location: 'global' }, 'https://aiplatform.googleapis.com/'],
    ['the multi-region us', { location: 'us' }, 'https://aiplatform.us.rep.googleapis.com/'],
    ['the multi-region eu', { location: 'eu' }, 'https://aiplatform.eu.rep.googleapis.com/'],
    ['a region of the US', { location: 'us-east5' }, 'https://us-east5-aiplatform.googleapis.com/'],
    ['a host', { apiHost: 'private.example.com' }, 'https://private.example.com/'],
    ['a URL', { apiHost: 'http://127.0.0.1:8080/prefix' }, 'http://127.0.0.1:8080/prefix'],
  ])('%s sets the base URL', (_case, over, url) => {
    expect(connected(over).endpoints.map(({ baseUrl }) => baseUrl.href)).toEqual([url]);
  });

  it('the headers are those of the provider and of the route, plus the bearer token', async () => {
    const call = callOf({ stream: true, route: { ...callOf().route, extraHeaders: { 'X-A': 'b' } } });
    const [endpoint] = connected().endpoints;
    const sent = await endpoint!.authenticate(requestOf(call));
    expect('_tag' in sent ? sent : { right: sent }).toMatchObject({
      right: {
        headers: {
          accept: 'text/event-stream',
          authorization: 'Bearer token-0123456789',
          'content-type': 'application/json',
          'x-goog-user-project': 'bill',
          'x-a': 'b',
        },
      },
    });
  });

  it('route `extra_body` overrides the translated body', () => {
    const extraBody = {
      generationConfig: { temperature: 0, topK: 3 },
      safetySettings: [{ category: 'X', threshold: 'OFF' }],
    };
    const call = callOf({
      body: '{"messages":[{"role":"user","content":"Hi"}],"temperature":0.9,"top_p":0.5}',
      route: { ...callOf().route, extraBody },
    });
    expect(JSON.parse(requestOf(call).body)).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
      generationConfig: { temperature: 0, topP: 0.5, topK: 3 },
      safetySettings: extraBody.safetySettings,
    });
  });

  it('the model generation decides whether `reasoning_effort` becomes a budget or a level', () => {
    const body = '{"messages":[{"role":"user","content":"Hi"}],"reasoning_effort":"low"}';
    expect(requestOf(callOf({ body })).body).toContain('"thinkingBudget":1024');
    expect(requestOf(callOf({ body, model: 'google/gemini-3-pro' })).body).toContain('"thinkingLevel":"LOW"');
  });

  it('a field that cannot be translated is rejected before the request is sent', () => {
    const call = callOf({ body: '{"messages":[{"role":"user","content":"Hi"}],"logit_bias":{"1":1}}' });
    expect(dialectOf(call).encode(call)).toMatchObject({
      left: { code: 'invalid_request', param: 'logit_bias' },
    });
  });
});

describe('a generate-content response', () => {
  const body =
    '{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"n":1.0}}}]},"finishReason":"STOP"}]}';

  it('decodes to a value and its exact JSON text', () => {
    const told = dialectOf(callOf()).decode(Buffer.from(body), callOf());
    if (E.isLeft(told)) throw new Error('a fault');
    const { text, value } = told.right;
    expect(text).toBe(JSON.stringify(value));
    expect(JSON.parse(text as string)).toMatchObject({ id: 'chatcmpl-1', model: 'asked', created: 1 });
  });

  it.each([
    ['text/event-stream; charset=utf-8', `data: ${body}\r\n\r\n`],
    ['application/json; charset=utf-8', `[${body}]`],
  ])('is read as a stream with content type %s', (contentType, bytes) => {
    const run = dialectOf(callOf()).events?.(contentType, callOf());
    expect([...run!.push(Buffer.from(bytes)), ...run!.end({ kind: 'eof' })].map(({ kind }) => kind)).toEqual([
      'chunk',
      'chunk',
      'done',
    ]);
  });

  it('is not read as a stream with any other content type', () => {
    expect(dialectOf(callOf()).events?.('text/html', callOf())).toBeUndefined();
    expect(dialectOf(callOf()).events?.('', callOf())).toBeUndefined();
  });
});

describe('the capabilities of platform A depend on the model', () => {
  const families = [
    'chat_completions',
    'messages',
    'responses',
    'embeddings',
  ] as const satisfies readonly ApiFamily[];

  it.each([
    ['google/gemini-2.5-pro', 'chat_completions'],
    ['google/text-embedding-005', 'embeddings'],
    ['openai/gpt', undefined],
    ['gemini-2.5-pro', undefined],
  ])('%s supports only this API family, by translation: %s', (upstreamModel, only) => {
    const route = { ...aRoute(), upstreamModel };
    for (const family of families) {
      expect(cloudA.takes(route, family)).toBe(family === only ? 'translated' : undefined);
      expect(connected().speak(callOf({ route, family })) !== undefined).toBe(family === only);
      if (family !== 'messages') expect(cloudA.supports(route)[family]).toBe(family === only);
    }
  });

  it.each([
    ['google/gemini-2.5-pro', true],
    ['anthropic/claude-sonnet-4-5', true],
    ['google/text-embedding-005', false],
    ['openai/gpt', false],
  ])('%s supports token counting: %p', (upstreamModel, counts) => {
    const route = { ...aRoute(), upstreamModel };
    expect(cloudA.takes(route, 'count_tokens')).toBe(counts ? 'translated' : undefined);
    expect(connected().speak(callOf({ route, family: 'count_tokens' })) !== undefined).toBe(counts);
  });

  it('google/* models support streams, tools, images and JSON schemas', () => {
    expect(cloudA.supports({ ...aRoute(), upstreamModel: 'google/gemini-2.5-pro' })).toEqual({
      chat_completions: true,
      responses: false,
      embeddings: false,
      stream: true,
      tools: true,
      vision: true,
      json_schema: true,
    });
  });
});
