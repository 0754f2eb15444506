import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { chatCompletions, messages } from '../../application/families.ts';
import type { ModelRequest } from '../../application/model-request.ts';
import type { CallTerms } from '../../application/ports/upstream.ts';
import { requestBody } from '../../application/request-body.ts';
import { sharedText } from '../../application/ports/shared-text.ts';
import { inCallersNames } from '../../domain/messages/callers-names.ts';
import type { ResolvedRoute, FamilySupport } from '../../domain/routing/model.ts';
import type { GatewayError } from '../../domain/shared/gateway-error.ts';
import { isArray, isObject, type Json, type JsonObject, parseExact } from '../../domain/shared/json.ts';
import { outboundText } from '../../domain/shared/outbound-text.ts';
import { largeWork } from '../../infrastructure/large-bodies/work.ts';
import { generateContentRequest } from '../../infrastructure/providers/cloud-a/generate-content-request.ts';
import { unifiedRequest } from '../../infrastructure/providers/cloud-b/unified-request.ts';
import { textDigest } from '../../infrastructure/text-digest.ts';
import { aRoute } from '../support/arbitraries/routing.ts';
import { platformBConfig } from '../support/platform-b-config.ts';

const route = aRoute({ upstreamModel: 'm' });

/** A route to a provider that supports chat completions alone, to the given extent. */
const resolvedTo = (takes: FamilySupport): ResolvedRoute => ({
  route,
  provider: {
    id: 'up',
    kind: 'cloud_b_platform',
    pricingProviderId: 'up',
    supports: () => route.capabilities,
    takes: (_, family) => (family === 'chat_completions' ? takes : undefined),
  },
});

const exact = (body: string): JsonObject => parseExact(body) as JsonObject;
const encoders = {
  converse: (body: string) =>
    unifiedRequest(
      exact(body),
      {
        route: { upstreamModel: 'anthropic.claude-opus-4-6-v1', compatibility: {}, extraBody: {} },
        stream: false,
      },
      textDigest,
    ),
  'generate-content': (body: string) => generateContentRequest(exact(body), 'gemini-3-pro-preview'),
} as const;
type Encoder = keyof typeof encoders;

/** The error that a messages caller gets for a body that cannot be translated; undefined if it can. */
function refusal(body: object, encoder: Encoder): GatewayError | undefined {
  const ask = messages.read(JSON.stringify(body));
  if (E.isLeft(ask)) return ask.left;
  const resolved = resolvedTo('translated');
  const written = messages.write(ask.right, resolved);
  if (E.isLeft(written)) return written.left;
  const encoded = encoders[encoder](outboundText(written.right));
  return E.isLeft(encoded) ? messages.inCallersNames?.(encoded.left, ask.right, resolved) : undefined;
}

const user = { role: 'user', content: 'Hi' };
const minimal = { model: 'm', max_tokens: 9, messages: [user] };
const tool = (name: string) => ({ name, input_schema: { type: 'object' } });
const use = (name: string) => ({ type: 'tool_use', id: 'a', name, input: {} });
const remote = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } };
const bitmap = { type: 'image', source: { type: 'base64', media_type: 'image/bmp', data: 'AAAA' } };
const wild = { type: 'image', source: { type: 'url', url: 'ftp://a' } };

describe('an error for a messages caller names the fields of the messages body', () => {
  it.each<[Encoder, object, string]>([
    ['converse', { stop_sequences: [''] }, 'stop_sequences'],
    ['converse', { max_tokens: 2 ** 40 }, 'max_tokens'],
    ['converse', { tools: [tool('a b')] }, 'tools[0].name'],
    ['converse', { tools: [tool('f')], tool_choice: { type: 'tool', name: 'g' } }, 'tool_choice.name'],
    [
      'generate-content',
      { tools: [tool('f')], tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
      'tool_choice.disable_parallel_tool_use',
    ],
    ['generate-content', { output_config: { effort: 'ultra' } }, 'output_config.effort'],
    [
      'generate-content',
      { messages: [user, { role: 'system', content: [], output_config: { effort: 'ultra' } }] },
      'messages[1].output_config.effort',
    ],
    ['converse', { thinking: { type: 'adaptive', budget_tokens: 5 } }, 'thinking.type'],
    [
      'converse',
      {
        messages: [
          user,
          {
            role: 'user',
            content: [
              { type: 'text', text: 'a' },
              { type: 'document', context: 'c', source: { type: 'url', url: 'https://example.com/a' } },
            ],
          },
        ],
      },
      'messages[1].content[1].source.url',
    ],
    [
      'converse',
      { system: 'S', messages: [user, { role: 'user', content: [{ type: 'text', text: 'a' }, remote] }] },
      'messages[1].content[1].source.url',
    ],
    ['converse', { messages: [{ role: 'user', content: [bitmap] }] }, 'messages[0].content[0].source'],
    [
      'converse',
      {
        messages: [
          {
            role: 'user',
            content: [
              {
                type: 'document',
                source: { type: 'base64', media_type: 'application/zip', data: 'AAAA' },
              },
            ],
          },
        ],
      },
      'messages[0].content[0].source',
    ],
    [
      'generate-content',
      {
        tools: [tool('f')],
        messages: [
          user,
          { role: 'assistant', content: [use('f')] },
          {
            role: 'user',
            content: [
              {
                type: 'tool_result',
                tool_use_id: 'a',
                content: [
                  { type: 'text', text: 'a' },
                  { type: 'document', source: { type: 'content', content: [bitmap, wild] } },
                ],
              },
            ],
          },
        ],
      },
      'messages[2].content[0].content[1].source.content[1].source.url',
    ],
    [
      'converse',
      {
        tools: [tool('f')],
        messages: [
          user,
          { role: 'assistant', content: [{ type: 'text', text: 'a' }, use('')] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'x' }] },
        ],
      },
      'messages[1].content[1].name',
    ],
    [
      'generate-content',
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'a' },
              { type: 'tool_result', tool_use_id: 'b' },
            ],
          },
        ],
      },
      'messages[0].content[1].tool_use_id',
    ],
  ])('%s: %j', (encoder, over, name) => {
    const error = refusal({ ...minimal, ...over }, encoder);
    expect(error?.param).toBe(name);
    expect(error?.message).toContain(`\`${name}\``);
  });

  it.each<[object, string, string]>([
    [{ output_config: { format: {} } }, 'response_format.type', 'output_config.format.type'],
    [{ output_format: {} }, 'response_format.json_schema.schema', 'output_format.schema'],
    [{ thinking: { type: 'enabled', budget_tokens: 5 } }, 'reasoning_effort', 'thinking.budget_tokens'],
    [
      { thinking: { type: 'enabled', budget_tokens: 5 } },
      'reasoning_budget_tokens',
      'thinking.budget_tokens',
    ],
    [{ tools: [tool('f')] }, 'tools[0].function.parameters.type', 'tools[0].input_schema.type'],
    [{}, 'temperature', 'temperature'],
    [{}, 'messages[0].content[0].text', 'messages[0].content'],
    [{}, 'messages[0].name', 'messages[0]'],
    [{ system: 'a' }, 'messages[0].content[0].text', 'system'],
    [{ system: 'a' }, 'messages[1].content', 'messages[0].content'],
  ])('%j: translates %s to %s', (body, param, name) => {
    const error: GatewayError = { code: 'invalid_request', message: `\`${param}\` is wrong.`, param };
    expect(inCallersNames(error, { ...minimal, ...body })).toEqual({
      ...error,
      message: `\`${name}\` is wrong.`,
      param: name,
    });
  });

  it('also in the suggestion of what to use instead', () => {
    const message = '`reasoning_effort` needs a manual budget: `reasoning.budget_tokens`, or an effort.';
    const error: GatewayError = { code: 'invalid_request', message, param: 'reasoning_effort' };
    expect(inCallersNames(error, minimal).message).toBe(
      '`output_config.effort` needs a manual budget: `thinking.budget_tokens`, or an effort.',
    );
  });

  it('also where a rule of the route rejects the body', () => {
    const body = { ...minimal, tools: [], tool_choice: { type: 'any' } };
    expect(refusal(body, 'converse')?.param).toBe('tool_choice');
  });

  it('and never names a field that the body does not have', () => {
    const some = <A>(...values: readonly A[]) => fc.constantFrom(...values);
    const aBody = fc.record(
      {
        model: fc.constant('m'),
        max_tokens: some(9, 2 ** 40),
        system: some('', 'S'),
        messages: fc
          .array(
            some<object>(
              user,
              { role: 'user', content: [remote] },
              { role: 'user', content: [wild, { type: 'tool_result', tool_use_id: 'a', content: [wild] }] },
              { role: 'assistant', content: [use('f'), { ...use('a b'), id: 'b' }] },
              { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'zz', content: 'x' }, remote] },
              { role: 'system', content: 'S' },
            ),
            { maxLength: 4 },
          )
          .map((said) => [user, ...said]),
        tools: some<object[]>([], [tool('f')], [tool('f'), tool('a b')]),
        tool_choice: some<object>(
          { type: 'tool', name: 'g' },
          { type: 'auto', disable_parallel_tool_use: true },
        ),
        stop_sequences: some([], [''], ['a', 'b', 'c', 'd', 'e']),
        temperature: some(0, 3),
        thinking: some<object>({ type: 'adaptive' }, { type: 'enabled', budget_tokens: 5 }),
        output_config: some<object>({ effort: 'ultra' }, { format: { type: 'json_schema', schema: {} } }),
      },
      { requiredKeys: ['model', 'max_tokens', 'messages'] },
    );
    fc.assert(
      fc.property(aBody, some<Encoder>('converse', 'generate-content'), (body, encoder) => {
        const error = refusal(body, encoder);
        if (error?.param === undefined) return;
        expect([error.param, valueAt(body as unknown as JsonObject, error.param)]).not.toEqual([
          error.param,
          undefined,
        ]);
      }),
      { numRuns: 500 },
    );
  });
});

/** The value at a path such as `messages[0].content`. */
const valueAt = (body: JsonObject, path: string): Json | undefined =>
  path
    .split(/[.[\]]+/)
    .filter((step) => step !== '')
    .reduce<Json | undefined>((value, step) => {
      if (isArray(value)) return value[Number(step)];
      return isObject(value) ? value[step] : undefined;
    }, body);

it('field names stay as they are for chat callers, and for messages callers of an upstream that takes messages', () => {
  expect(chatCompletions.inCallersNames).toBeUndefined();
  const native: ResolvedRoute = resolvedTo('translated');
  const takesBoth = { ...native, provider: { ...native.provider, takes: () => 'translated' as const } };
  const ask = messages.read(JSON.stringify(minimal));
  const error: GatewayError = { code: 'invalid_request', message: '`stop` is wrong.', param: 'stop' };
  expect(E.isRight(ask) && messages.inCallersNames?.(error, ask.right, takesBoth)).toBe(error);
});

describe('the request pipeline names the field of the messages body', () => {
  const refused = JSON.stringify({ ...minimal, stop_sequences: [''] });
  const terms: CallTerms = {
    route: aRoute({ upstreamModel: 'm', compatibility: { cloud_b: { api_style: 'runtime_unified' } } }),
    family: 'chat_completions',
    stream: false,
    answer: { id: 'chatcmpl-1', model: 'm', createdSecs: 1 },
    betas: [],
  };
  const named = { _tag: 'Left', left: { param: 'stop_sequences' } };

  it('for a small body', async () => {
    const prepare = () => E.left<GatewayError>({ code: 'invalid_request', message: '`stop`', param: 'stop' });
    const memory = { hold: () => true };
    const body = requestBody(
      { upstream: { prepare } } as unknown as Parameters<typeof requestBody>[0],
      messages,
      { body: E.right(refused), memory } as unknown as ModelRequest,
      1000,
    );
    await body.read();
    expect(await body.prepare(resolvedTo('translated'), terms)).toMatchObject(named);
  });

  it('for a large body', () => {
    const text = sharedText([new TextEncoder().encode(refused)]);
    const body = { id: '1', text, scope: 's', family: 'messages', maxValues: 1000 } as const;
    expect(largeWork().write({ body, terms, config: platformBConfig })).toMatchObject(named);
  });
});
