import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import * as fc from 'fast-check';
import { chatCompletions, messages, responses } from '../../application/families.ts';
import type { AnswerPath, ParsedRequest, Family } from '../../application/model-request.ts';
import type { ResolvedRoute } from '../../domain/routing/model.ts';
import { outboundText } from '../../domain/shared/outbound-text.ts';
import { cloudA } from '../../infrastructure/providers/cloud-a/index.ts';
import { cloudB } from '../../infrastructure/providers/cloud-b/index.ts';
import type { Dialect } from '../../infrastructure/providers/provider.ts';
import { textDigest } from '../../infrastructure/text-digest.ts';
import { aRoute } from '../support/arbitraries/routing.ts';
import { anyText } from '../support/arbitraries/text.ts';

const common = {
  id: 'up',
  pricingProviderId: 'up',
  defaultHeaders: {},
  timeouts: { connectMs: 1, firstByteMs: 1, idleMs: 1, totalMs: 1 },
};
const context = {
  sanitise: (message: string) => message,
  digest: textDigest,
  conceal: () => undefined,
  warn: () => undefined,
};

/** The providers as the service connects them, without an upstream. */
const platforms = {
  a: {
    implementation: { kind: 'cloud_a_platform', ...cloudA },
    connected: cloudA.connect(
      {
        ...common,
        kind: 'cloud_a_platform',
        projectId: 'p',
        location: 'global',
        apiHost: undefined,
        auth: { mode: 'bearer', token: 't' },
      },
      context,
    ),
    upstreamModel: 'anthropic/claude-opus-4-6',
  },
  b: {
    implementation: { kind: 'cloud_b_platform', ...cloudB },
    connected: cloudB.connect(
      {
        ...common,
        kind: 'cloud_b_platform',
        region: 'us-east-1',
        auth: {
          mode: 'static_credentials',
          accessKeyId: 'a',
          secretAccessKey: 's',
          sessionToken: undefined,
        },
        runtimeEndpointUrl: undefined,
        endpointbEndpointUrl: undefined,
      },
      context,
    ),
    upstreamModel: 'anthropic.claude-opus-4-6',
  },
} as const;

/** For each family, a conversation with a tool call and its result for each id. */
const bodies = {
  chat: (ids: readonly string[]): object => ({
    max_tokens: 9,
    messages: [
      { role: 'user', content: 'Hi' },
      {
        role: 'assistant',
        tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })),
      },
      ...ids.map((id) => ({ role: 'tool', tool_call_id: id, content: 'x' })),
    ],
    tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }],
  }),
  messages: (ids: readonly string[]): object => ({
    max_tokens: 9,
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: ids.map((id) => ({ type: 'tool_use', id, name: 'f', input: {} })) },
      { role: 'user', content: ids.map((id) => ({ type: 'tool_result', tool_use_id: id, content: 'x' })) },
    ],
    tools: [{ name: 'f', input_schema: { type: 'object' } }],
  }),
  responses: (ids: readonly string[]): object => ({
    input: [
      ...ids.map((id) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' })),
      ...ids.map((id) => ({ type: 'function_call_output', call_id: id, output: 'x' })),
    ],
  }),
} as const;

/** A caller's body, read and prepared as the pipeline of a request does it. */
const preparedBy =
  <A extends ParsedRequest>(family: Family<A>) =>
  (body: object, resolved: ResolvedRoute): AnswerPath & { readonly body: string } => {
    const ask = family.read(JSON.stringify(body));
    if (E.isLeft(ask)) throw new Error(ask.left.message);
    const written = family.write(ask.right, resolved);
    if (E.isLeft(written)) throw new Error(written.left.message);
    return { ...family.answerPath(ask.right, resolved, 'request'), body: outboundText(written.right) };
  };

const families = {
  chat: preparedBy(chatCompletions),
  messages: preparedBy(messages),
  responses: preparedBy(responses(textDigest)),
};

interface Door {
  readonly platform: keyof typeof platforms;
  readonly style?: string;
  readonly caller: keyof typeof bodies;
  /** What the upstream accepts as an id (rules 43.21, 43.24). */
  readonly valid: RegExp;
  readonly prefix: 'tool_' | 'call_';
  /** An empty id is rejected, and its field named: it would identify nothing in the chat body that is written first. */
  readonly namesEach?: boolean;
  /** The caller wrote the upstream's conversation, so that a second call with an id keeps it (rule 20.7). */
  readonly native?: boolean;
}

const inMessages = /^[A-Za-z0-9_-]{1,64}$/;
const wider = /^[A-Za-z0-9_.:-]{1,64}$/;
const bodyOf = (style: string, caller: Door['caller']): Door => ({
  platform: 'b',
  style,
  caller,
  valid: inMessages,
  prefix: 'tool_',
});
const unified = (caller: Door['caller']): Door => ({ ...bodyOf('runtime_unified', caller), valid: wider });
const rawPredict = (caller: Door['caller']): Door => ({
  platform: 'a',
  caller,
  valid: inMessages,
  prefix: 'tool_',
});

const doors: readonly (readonly [string, Door])[] = [
  ['runtime_unified, chat callers', unified('chat')],
  ['runtime_unified, messages callers', { ...unified('messages'), namesEach: true }],
  ['runtime_messages, chat callers', bodyOf('runtime_messages', 'chat')],
  ['runtime_messages, messages callers', { ...bodyOf('runtime_messages', 'messages'), native: true }],
  ['endpointb_messages, chat callers', bodyOf('endpointb_messages', 'chat')],
  ['endpointb_messages, messages callers', { ...bodyOf('endpointb_messages', 'messages'), native: true }],
  ['platform A, chat callers', rawPredict('chat')],
  ['platform A, messages callers', { ...rawPredict('messages'), native: true }],
  [
    'endpointb_responses',
    {
      platform: 'b',
      style: 'endpointb_responses',
      caller: 'responses',
      valid: wider,
      prefix: 'call_',
      native: true,
    },
  ],
];

/** The upstream body: read, prepared and encoded as a caller's request is. */
function outbound({ platform, style, caller }: Door, ids: readonly string[], stream: boolean): unknown {
  const { implementation, connected, upstreamModel } = platforms[platform];
  const route = aRoute({
    upstreamModel,
    compatibility:
      style === undefined ? {} : { cloud_b: { api_style: style, openai_base_path: '/openai/v1' } },
  });
  const provider = { id: 'up', pricingProviderId: 'up', ...implementation };
  const { speaks, body } = families[caller]({ model: 'm', ...bodies[caller](ids) }, { route, provider });
  const answer = { id: 'chatcmpl-1', model: 'm', createdSecs: 0 };
  const call = { route, family: speaks.family, stream, body, answer, betas: [] };
  const encoded = (connected.speak(call)!.dialect as Dialect).encode(call);
  if (E.isLeft(encoded)) throw new Error(encoded.left.message);
  return JSON.parse(encoded.right.body);
}

interface Ids {
  readonly calls: readonly string[];
  readonly results: readonly string[];
}

/** The ids of calls and of results, in the order of the body. */
function idsIn(body: unknown): Ids {
  const calls: string[] = [];
  const results: string[] = [];
  const look = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const { type, id, tool_use_id: of, call_id: callId, toolUse, toolResult } = value as Loose;
    if (type === 'tool_use') calls.push(id as string);
    if (type === 'tool_result') results.push(of as string);
    if (type === 'function_call') calls.push(callId as string);
    if (type === 'function_call_output') results.push(callId as string);
    if (toolUse !== undefined) calls.push((toolUse as Loose)['toolUseId'] as string);
    if (toolResult !== undefined) results.push((toolResult as Loose)['toolUseId'] as string);
    for (const inner of Object.values(value)) look(inner);
  };
  look(body);
  return { calls, results };
}

type Loose = Readonly<Record<string, unknown>>;

/** Any text, and texts that look like ids; no lone surrogates, which cannot be sent upstream. */
const anId = fc
  .oneof(
    anyText,
    fc.string({ unit: 'grapheme', maxLength: 100 }),
    fc.stringMatching(/^[A-Za-z0-9_.:|/-]{0,80}$/),
    fc.constantFrom(
      '',
      'a|b',
      'functions.f:0',
      'x'.repeat(64),
      'x'.repeat(65),
      '__proto__',
      'toolu_01',
      'a\n',
    ),
  )
  .map((id) => id.toWellFormed());

describe.each(doors)('replay identifiers sent upstream: %s', (_name, door) => {
  const oneId = anId.filter((id) => id !== '' || door.namesEach !== true);
  const someIds = fc.uniqueArray(oneId, { minLength: 1, maxLength: 4 });

  it('are always valid for the upstream, the same in call and result, and different for different ids', () => {
    fc.assert(
      fc.property(someIds, (asked) => {
        const { calls, results } = idsIn(outbound(door, asked, false));
        expect(calls).toHaveLength(asked.length);
        expect(results).toEqual(calls);
        for (const id of calls) expect(id).toMatch(door.valid);
        expect(new Set(calls).size).toBe(asked.length);
      }),
      { numRuns: 100 },
    );
  });

  it('stay unchanged where they are valid, and become the prefix and the hash otherwise', () => {
    fc.assert(
      fc.property(oneId, (id) => {
        const [sent] = idsIn(outbound(door, [id], false)).calls;
        expect(sent).toBe(door.valid.test(id) ? id : `${door.prefix}${textDigest(id)}`);
      }),
      { numRuns: 100 },
    );
  });

  it('are the same within a request and across requests, whatever else these contain', () => {
    fc.assert(
      fc.property(someIds, someIds, oneId, (before, after, id) => {
        const others = [...before, ...after].filter((other) => other !== id);
        const [alone] = idsIn(outbound(door, [id], false)).calls;
        const among = idsIn(outbound(door, [...others, id, id], door.style !== 'runtime_messages'));
        const [first, second] = among.calls.slice(-2);
        expect([first, second === alone]).toEqual([alone, door.native === true]);
        expect(second).toMatch(door.valid);
        expect(among.results.slice(-2)).toEqual([first, second]);
      }),
      { numRuns: 50 },
    );
  });
});
