import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import * as fc from 'fast-check';
import {
  isObject,
  isArray,
  type Json,
  type JsonObject,
  objectsOf,
  parseExact,
} from '../../domain/shared/json.ts';
import { markOf } from '../../domain/messages/cache-marks.ts';
import { messagesWatched, readMessagesRequest } from '../../domain/messages/messages-request.ts';
import { nothingKept } from '../../domain/messages/chat-messages.ts';
import { toChatBody } from '../../domain/messages/to-chat.ts';
import { permissive } from '../../domain/routing/capabilities.ts';
import type { Compatibility } from '../../domain/routing/model.ts';
import { parseDocument } from '../../domain/shared/json-document.ts';
import { generateContentRequest } from '../../infrastructure/providers/cloud-a/generate-content-request.ts';
import { unifiedRequest } from '../../infrastructure/providers/cloud-b/unified-request.ts';
import { fromChatBody } from '../../infrastructure/providers/messages-body/request.ts';
import {
  endpointbRules,
  invokeRules,
  rawPredictRules,
} from '../../infrastructure/providers/messages-body/rules.ts';
import { textDigest } from '../../infrastructure/text-digest.ts';

const mark = { cache_control: { type: 'ephemeral' } };
const hour = { cache_control: { type: 'ephemeral', ttl: '1h' } };
const text = (words: string, more: object = {}) => ({ type: 'text', text: words, ...more });
const point = { cachePoint: { type: 'default' } };
const hourPoint = { cachePoint: { type: 'default', ttl: '1h' } };

/** A file part with this extension. */
const file = (extension: string, more: object = {}) => ({
  type: 'file',
  file: { filename: `a.${extension}`, file_data: 'YQ==' },
  ...more,
});

const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } };
const tool = (name: string, more: object) => ({ type: 'function', function: { name }, ...more });

/** A chat body with a cache mark in each place where callers usually put one. */
const marked = {
  model: 'm',
  max_tokens: 9,
  messages: [
    { role: 'system', content: [text('Be kind.'), text('Be brief.', hour)] },
    { role: 'user', content: [text('Read this.', mark), text('What is it?')] },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'call_1', content: [text('A book.', mark)] },
  ],
  tools: [tool('f', hour)],
};

describe('cache marks, chat to messages bodies', () => {
  const sent = (body: object, rules = rawPredictRules): JsonObject => {
    const route = {
      upstreamModel: 'anthropic/claude-opus-4-6',
      compatibility: {},
      capabilities: permissive,
      extraBody: {},
    };
    const result = fromChatBody(
      { body: JSON.stringify(body), stream: false, betas: [], route },
      rules,
      textDigest,
    );
    if (E.isLeft(result)) throw new Error(result.left.message);
    return JSON.parse(result.right.text) as JsonObject;
  };

  it.each([
    ['raw-predict', rawPredictRules],
    ['invoke', invokeRules],
    ['endpointb_messages', endpointbRules],
  ])(
    '%s: marks stay on system, parts and tools; a mark inside a tool result moves to the result',
    (_, rules) => {
      expect(sent(marked, rules)).toMatchObject({
        system: [text('Be kind.'), text('Be brief.', hour)],
        messages: [
          { role: 'user', content: [text('Read this.', mark), text('What is it?')] },
          { role: 'assistant', content: [{ type: 'tool_use', id: 'call_1' }] },
          {
            role: 'user',
            content: [{ type: 'tool_result', tool_use_id: 'call_1', content: [text('A book.')], ...mark }],
          },
        ],
        tools: [{ type: 'custom', name: 'f', ...hour }],
      });
    },
  );

  it('a mark on a message moves to its last block, unless that has its own', () => {
    const messages = [
      { role: 'system', content: 'Be kind.', ...mark },
      { role: 'user', content: 'Hi', ...mark },
      { role: 'assistant', content: 'Calling.', tool_calls: [{ ...call, ...hour }], ...mark },
      { role: 'tool', tool_call_id: 'call_1', content: 'A book.', ...mark },
    ];
    expect(sent({ ...marked, messages })).toMatchObject({
      system: [text('Be kind.', mark)],
      messages: [
        { content: [text('Hi', mark)] },
        { content: [text('Calling.'), { type: 'tool_use', ...hour }] },
        { content: [{ type: 'tool_result', content: 'A book.', ...mark }] },
      ],
    });
  });

  it('a mark on the body moves to the end of the conversation, a mark inside `function` to the tool', () => {
    const tools = [{ type: 'function', function: { name: 'f', ...mark } }];
    const body = sent({ ...marked, messages: [{ role: 'user', content: 'Hi' }], tools, ...hour });
    expect(body).toMatchObject({
      messages: [{ content: [text('Hi', hour)] }],
      tools: [{ name: 'f', ...mark }],
    });
    expect(body).not.toHaveProperty('cache_control');
  });

  it('system parts without a mark are joined into one string', () => {
    const messages = [{ role: 'system', content: [text('A.'), text('B.')] }, ...marked.messages.slice(1)];
    expect(sent({ ...marked, messages })['system']).toBe('A.\n\nB.');
  });
});

const converse = (
  body: object,
  upstreamModel = 'us.anthropic.claude-opus-4-6-v1',
  compatibility: Compatibility = {},
): JsonObject => {
  const result = unifiedRequest(
    parseExact(JSON.stringify(body)) as JsonObject,
    { route: { upstreamModel, compatibility, extraBody: {} }, stream: false },
    textDigest,
  );
  if (E.isLeft(result)) throw new Error(result.left.message);
  return JSON.parse(JSON.stringify(result.right.body)) as JsonObject;
};

/** Every list of blocks in a converse body that may hold a cache point. */
const placesOf = ({ system, messages, toolConfig }: JsonObject): readonly (readonly JsonObject[])[] => [
  objectsOf(isObject(toolConfig) ? toolConfig['tools'] : undefined),
  objectsOf(system),
  ...objectsOf(messages).map(({ content }) => objectsOf(content)),
];
const isPoint = (block: JsonObject): boolean => block['cachePoint'] !== undefined;
/** Whether a cache point may follow this block directly. */
const mayPrecede = (block: JsonObject | undefined): boolean => {
  const document = block?.['document'];
  return block !== undefined && !isPoint(block) && (!isObject(document) || document['format'] === 'pdf');
};
const countOf = (body: JsonObject): number => placesOf(body).flat().filter(isPoint).length;

describe('cache marks, chat to converse', () => {
  it('a mark becomes a cache point after the block that it is on', () => {
    expect(converse(marked)).toMatchObject({
      system: [{ text: 'Be kind.' }, { text: 'Be brief.' }, hourPoint],
      messages: [
        { role: 'user', content: [{ text: 'Read this.' }, point, { text: 'What is it?' }] },
        { role: 'assistant', content: [{ toolUse: { toolUseId: 'call_1' } }] },
        { role: 'user', content: [{ toolResult: { content: [{ text: 'A book.' }] } }, point] },
      ],
      toolConfig: { tools: [{ toolSpec: { name: 'f' } }, hourPoint] },
    });
    expect(JSON.stringify(converse(marked))).not.toContain('cache_control');
  });

  it('a mark inside `function` becomes a point after the tool, a mark on a tool call one after the call', () => {
    const body = {
      ...marked,
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', tool_calls: [{ ...call, ...hour }] },
        { role: 'tool', tool_call_id: 'call_1', content: 'A book.' },
      ],
      tools: [{ type: 'function', function: { name: 'f', ...mark } }],
    };
    expect(placesOf(converse(body)).map((blocks) => blocks.filter(isPoint))).toEqual([
      [point],
      [],
      [],
      [hourPoint],
      [],
    ]);
  });

  it.each<[string, Compatibility, points: number, hours: number]>([
    ['anthropic.claude-sonnet-4-5-20250929-v1:0', {}, 4, 2],
    ['arn:aws:bedrock:us-east-1:1:inference-profile/eu.anthropic.claude-opus-5-5', {}, 4, 2],
    ['anthropic.claude-3-7-sonnet-20250219-v1:0', {}, 4, 0],
    ['anthropic.claude-opus-4-20250514-v1:0', {}, 4, 0],
    ['anthropic.claude-3-haiku-20240307-v1:0', {}, 0, 0],
    ['anthropic.claude-3-5-sonnet-20240620-v1:0', {}, 0, 0],
    ['us.amazon.nova-pro-v1:0', {}, 3, 0],
    ['meta.llama3-70b-instruct-v1:0', {}, 0, 0],
    ['arn:aws:bedrock:us-east-1:1:application-inference-profile/a1b2', {}, 0, 0],
    [
      'arn:aws:bedrock:us-east-1:1:application-inference-profile/a1b2',
      { cloud_b: { api_style: 'runtime_unified', model_tier: 'latest' } },
      4,
      2,
    ],
    [
      'arn:aws:bedrock:us-east-1:1:application-inference-profile/a1b2',
      { cloud_b: { api_style: 'runtime_unified', model_tier: 'none' } },
      0,
      0,
    ],
  ])(
    '%s: has as many points, and points with a 1h TTL, as the platform documents',
    (upstreamModel, compatibility, points, hours) => {
      const body = converse(marked, upstreamModel, compatibility);
      expect(countOf(body)).toBe(points);
      expect(JSON.stringify(body).split('"ttl":"1h"')).toHaveLength(hours + 1);
    },
  );

  it('of more than four points, the last one of tools, the last one of system and the last two of messages stay', () => {
    const body = converse({
      ...marked,
      messages: [
        { role: 'system', content: [text('S1', mark), text('S2', mark)] },
        { role: 'user', content: [text('U1', mark), text('U2', mark), text('U3', mark)] },
      ],
      tools: [tool('f', mark), tool('g', mark)],
    });
    expect(body).toMatchObject({
      system: [{ text: 'S1' }, { text: 'S2' }, point],
      messages: [{ content: [{ text: 'U1' }, { text: 'U2' }, point, { text: 'U3' }, point] }],
    });
    expect(placesOf(body)[0]?.map((each) => Object.keys(each)[0])).toEqual([
      'toolSpec',
      'toolSpec',
      'cachePoint',
    ]);
  });

  it('points that messages do not use go to the last marks of system, then of tools', () => {
    const names = ['A', 'B', 'C'] as const;
    const pointsOf = (system: number, tools: number): readonly string[] => {
      const body = converse({
        messages: [
          { role: 'system', content: names.slice(0, system).map((name) => text(name, mark)) },
          { role: 'user', content: 'Hi' },
        ],
        tools: names.slice(0, tools).map((name) => tool(name, mark)),
      });
      return placesOf(body).map((blocks) => blocks.map((each) => (isPoint(each) ? '.' : 'x')).join(''));
    };
    expect(pointsOf(2, 2)).toEqual(['x.x.', 'x.x.', 'x']);
    expect(pointsOf(3, 3)).toEqual(['xxx.', 'x.x.x.', 'x']);
    expect(pointsOf(2, 3)).toEqual(['xx.x.', 'x.x.', 'x']);
  });

  it('a point after documents is placed before those whose text the platform extracts', () => {
    const said = (...parts: readonly object[]): readonly (string | undefined)[] => {
      const [turn] = objectsOf(converse({ messages: [{ role: 'user', content: parts }] })['messages']);
      return objectsOf(turn?.['content']).map((block) => Object.keys(block)[0]);
    };
    const a = text('Read.');
    expect(said(a, file('txt', mark))).toEqual(['text', 'cachePoint', 'document']);
    expect(said(a, file('csv'), file('md', mark))).toEqual(['text', 'cachePoint', 'document', 'document']);
    expect(said(a, file('pdf'), file('txt', hour))).toEqual(['text', 'document', 'cachePoint', 'document']);
    expect(said(a, file('pdf', mark))).toEqual(['text', 'document', 'cachePoint']);
    expect(said(file('txt'), text('Read.', mark))).toEqual(['document', 'text', 'cachePoint']);
    expect(said(text('Read.', mark), file('txt', mark))).toEqual(['text', 'cachePoint', 'document']);
    expect(said(file('txt', mark), a)).toEqual(['document', 'text']);
  });

  it('a mark on the body becomes a point at the end of the conversation', () => {
    const body = converse({ ...marked, messages: [{ role: 'user', content: 'Hi' }], tools: [], ...mark });
    expect(body['messages']).toEqual([{ role: 'user', content: [{ text: 'Hi' }, point] }]);
  });
});

const aText = fc.constantFrom('a', 'b', ' ', '');
const aMark = fc.constantFrom({}, mark, hour, { cache_control: null });
const aPart = fc.tuple(aText, aMark).map(([words, more]) => text(words, more));
const aFile = fc
  .tuple(fc.constantFrom('pdf', 'txt'), aMark)
  .map(([extension, more]) => file(extension, more));
const aCall = { id: 'call_1', type: 'function', function: { name: 'f0', arguments: '{}' } };
const aChat = fc.record({
  model: fc.constant('m'),
  max_tokens: fc.constant(9),
  messages: fc
    .array(
      fc.oneof(
        fc.record({ role: fc.constantFrom('system', 'user', 'assistant'), content: fc.array(aPart) }),
        fc.array(fc.oneof(aPart, aFile)).map((content) => ({ role: 'user', content })),
        fc.tuple(aText, aMark).map(([content, more]) => ({ role: 'user', content, ...more })),
        fc.array(aPart).map((content) => ({ role: 'tool', tool_call_id: 'call_1', content })),
      ),
    )
    .map((said) => [{ role: 'user', content: 'Hi' }, { role: 'assistant', tool_calls: [aCall] }, ...said]),
  tools: fc.array(aMark).map((marks) => marks.map((more, index) => tool(`f${index}`, more))),
});

it('a converse body always has at most four cache points, each after a block that may precede one, and no other change', () => {
  const unmarked = (value: Json | undefined): Json | undefined => {
    if (isArray(value))
      return value.filter((each) => !isObject(each) || !isPoint(each)).map((each) => unmarked(each) ?? null);
    return isObject(value)
      ? Object.fromEntries(Object.entries(value).map(([key, member]) => [key, unmarked(member)]))
      : value;
  };
  fc.assert(
    fc.property(aChat, (chat) => {
      const body = converse(chat);
      const takesNone = converse(chat, 'qwen.qwen3-32b-v1:0');
      expect(countOf(body)).toBeLessThanOrEqual(4);
      expect(countOf(takesNone)).toBe(0);
      for (const place of placesOf(body))
        for (const [at, block] of place.entries())
          if (isPoint(block)) expect(mayPrecede(place[at - 1])).toBe(true);
      expect(unmarked(body)).toEqual(takesNone);
      expect(JSON.stringify(body)).not.toContain('cache_control');
    }),
    { seed: 61 },
  );
});

describe('cache marks of messages requests, by way of chat', () => {
  const asked = {
    model: 'm',
    max_tokens: 9,
    system: [text('Be kind.', hour), text('Be brief.')],
    messages: [
      { role: 'user', content: [text('Hi', mark)] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'A book.', ...mark }],
      },
    ],
    tools: [{ name: 'f', input_schema: { type: 'object' }, ...hour }],
  };
  const chat = (): JsonObject => {
    const document = parseDocument(JSON.stringify(asked), messagesWatched, parseExact);
    if (E.isLeft(document)) throw new Error(document.left.message);
    const request = readMessagesRequest(document.right);
    const body = E.isLeft(request)
      ? request
      : toChatBody(request.right, 'provider', { ...nothingKept, marks: markOf });
    if (E.isLeft(body)) throw new Error(body.left.message);
    return body.right;
  };

  it('become cache points in converse', () => {
    expect(converse(chat())).toMatchObject({
      system: [{ text: 'Be kind.' }, hourPoint, { text: 'Be brief.' }],
      messages: [
        { content: [{ text: 'Hi' }, point] },
        { content: [{ toolUse: {} }] },
        { content: [{ toolResult: { content: [{ text: 'A book.' }] } }, point] },
      ],
      toolConfig: { tools: [{ toolSpec: {} }, hourPoint] },
    });
  });

  it('are removed for generate-content, which has no such field, and nothing else is', () => {
    const body = generateContentRequest(chat(), 'gemini-2.5-pro');
    if (E.isLeft(body)) throw new Error(body.left.message);
    expect(JSON.stringify(body.right)).not.toContain('cache');
    expect(body.right).toMatchObject({
      systemInstruction: { parts: [{ text: 'Be kind.\n\nBe brief.' }] },
      contents: [
        { parts: [{ text: 'Hi' }] },
        { role: 'model' },
        { parts: [{ functionResponse: { name: 'f', response: { output: 'A book.' } } }] },
      ],
    });
  });
});
