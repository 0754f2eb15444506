import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { chatWatched } from '../../domain/chat/chat-request.ts';
import { type JsonObject, parseExact } from '../../domain/shared/json.ts';
import { parseDocument } from '../../domain/shared/json-document.ts';
import { fromChatCompletion } from '../../domain/messages/from-chat.ts';
import { messagesWatched, readMessagesRequest } from '../../domain/messages/messages-request.ts';
import { messagesStream } from '../../domain/messages/messages-stream.ts';
import { toChatBody } from '../../domain/messages/to-chat.ts';
import { andThen, seal } from '../../domain/shared/stream-machine.ts';
import { generateContentRequest } from '../../infrastructure/providers/cloud-a/generate-content-request.ts';
import { generatedCompletion } from '../../infrastructure/providers/cloud-a/generate-content-response.ts';
import { generateContentStream } from '../../infrastructure/providers/cloud-a/generate-content-stream.ts';
import { sseFrames } from '../../infrastructure/providers/wire/sse.ts';
import { outputsOf } from '../support/machine-laws.ts';

const hi = { role: 'user', content: 'Hi' };
const older = 'gemini-2.5-flash';
const newer = 'gemini-3-pro-preview';

const outcome = (body: object, model: string) =>
  generateContentRequest(parseExact(JSON.stringify({ messages: [hi], ...body })) as JsonObject, model);

function sent(body: object, model = older): JsonObject {
  const request = outcome(body, model);
  if (E.isLeft(request)) throw new Error(request.left.message);
  return JSON.parse(JSON.stringify(request.right)) as JsonObject;
}

function refused(body: object) {
  const request = outcome(body, older);
  if (E.isRight(request)) throw new Error('It was taken.');
  expect(request.left.message).toContain(`\`${request.left.param}\``);
  return request.left;
}

const config = (body: object) => sent(body)['generationConfig'];

/** The places where clients put the platform's own fields. */
const places: readonly (readonly [string, (fields: object) => object])[] = [
  ['extra_body.google.', (fields) => ({ extra_body: { google: fields } })],
  ['google.', (fields) => ({ google: fields })],
  ['', (fields) => fields],
];

describe.each(places)('the platform’s own fields in `%s`', (place, put) => {
  it('are sent with the names of generate-content', () => {
    const cached = 'projects/p/locations/l/cachedContents/1';
    const safety = [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }];
    const body = put({
      cached_content: cached,
      safety_settings: safety,
      labels: { cost_center: 'a' },
      thinking_config: { thinking_budget: 512, include_thoughts: true },
      response_modalities: ['text', 'image'],
      image_config: { aspect_ratio: '16:9' },
    });
    expect(sent(body)).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
      cachedContent: cached,
      safetySettings: safety,
      labels: { cost_center: 'a' },
      generationConfig: {
        thinkingConfig: { thinkingBudget: 512, includeThoughts: true },
        responseModalities: ['TEXT', 'IMAGE'],
        imageConfig: { aspectRatio: '16:9' },
      },
    });
  });

  it('may have the names of generate-content, and null counts as absent', () => {
    const body = { cachedContent: 'c', thinkingConfig: { thinkingLevel: 'low' }, labels: null };
    expect(sent(put(body))).toMatchObject({
      cachedContent: 'c',
      generationConfig: { thinkingConfig: { thinkingLevel: 'LOW' } },
    });
  });

  it.each([
    ['cached_content', 7],
    ['cached_content', ''],
    ['safety_settings', {}],
    ['safety_settings', [7]],
    ['labels', []],
    ['thinking_config', 'low'],
    ['response_modalities', 'image'],
  ])('rejects %s of the wrong type and names it', (field, value) => {
    expect(refused(put({ [field]: value })).param).toBe(`${place}${field}`);
  });

  it('rejects a thinking budget or level beside `reasoning_effort`', () => {
    for (const own of [{ thinking_budget: 5 }, { thinking_level: 'low' }])
      expect(refused({ reasoning_effort: 'low', ...put({ thinking_config: own }) })).toMatchObject({
        param: 'reasoning_effort',
        message: `\`reasoning_effort\` and \`${place}thinking_config\` both say how much to think: send one.`,
      });
    expect(
      config({ reasoning_effort: 'low', ...put({ thinking_config: { include_thoughts: false } }) }),
    ).toEqual({ thinkingConfig: { thinkingBudget: 1024, includeThoughts: false } });
  });
});

describe('unknown members of `extra_body` and `google`', () => {
  it.each<[object, string]>([
    [{ extra_body: { google: { thought_tag_marker: 'think' } } }, 'extra_body.google.thought_tag_marker'],
    [{ extra_body: { vendor: 1 } }, 'extra_body.vendor'],
    [{ google: { tools: [] } }, 'google.tools'],
    [{ google: [] }, 'google'],
    [{ extra_body: 'x' }, 'extra_body'],
    [{ extra_body: { google: 7 } }, 'extra_body.google'],
  ])('rejects %j and names the field', (body, param) => {
    expect(refused(body).param).toBe(param);
  });
});

it('a field in two places is accepted with equal values, and rejected with both names where they differ', () => {
  const place = fc.constantFrom(...places);
  const field = fc.constantFrom<readonly [string, unknown, unknown]>(
    ['cached_content', 'a', 'b'],
    ['cachedContent', 'a', 'b'],
    ['labels', { a: 'b' }, { a: 'c' }],
    ['safety_settings', [], [{ category: 'x' }]],
    ['thinking_config', { thinking_budget: 1 }, { thinking_budget: 2 }],
  );
  fc.assert(
    fc.property(place, place, field, ([one, putOne], [other, putOther], [name, value, differs]) => {
      fc.pre(one !== other);
      const both = (second: unknown) => ({ ...putOne({ [name]: value }), ...putOther({ [name]: second }) });
      expect(sent(both(value))).toEqual(sent(putOne({ [name]: value })));
      const { message } = refused(both(differs));
      expect(message).toContain(`\`${one}${name}\``);
      expect(message).toContain(`\`${other}${name}\``);
    }),
    { numRuns: 100 },
  );
  expect(refused({ google: { cached_content: 'a', cachedContent: 'b' } }).param).toBe(
    'google.cached_content',
  );
  const inside = { thinking_budget: 1, thinkingBudget: 2 };
  expect(refused({ google: { thinking_config: inside } }).message).toContain(
    '`google.thinking_config.thinking_budget` and `google.thinking_config.thinkingBudget`',
  );
});

it('null counts as absent in every one of these fields', () => {
  const silent = { extra_body: { vendor: null, google: null }, thinking_config: { thinking_level: null } };
  expect(sent({ ...silent, google: { labels: null } })).toEqual(sent({ thinking_config: {} }));
});

it.each(['extra_body', 'google', 'thinking_config'])('`%s` with a repeated key is rejected', (field) => {
  const text = `{"model":"m","messages":[],"${field}":{"a":1,"a":2}}`;
  expect(parseDocument(text, chatWatched)).toMatchObject({ _tag: 'Left' });
});

describe('`modalities`', () => {
  it('with images become responseModalities, and text alone is omitted', () => {
    expect(config({ modalities: ['text', 'image'] })).toEqual({ responseModalities: ['TEXT', 'IMAGE'] });
    expect(config({ modalities: ['image'], google: { response_modalities: ['IMAGE'] } })).toEqual({
      responseModalities: ['IMAGE'],
    });
    expect(config({ modalities: ['text'] })).toBeUndefined();
  });

  it('are rejected with audio, or where they contradict `response_modalities`', () => {
    expect(refused({ modalities: ['text', 'audio'] }).param).toBe('modalities[1]');
    expect(refused({ modalities: ['text'], google: { response_modalities: ['IMAGE'] } }).param).toBe(
      'modalities',
    );
  });
});

describe('thought signatures', () => {
  const about = { id: 'chatcmpl-1', model: 'm', createdSecs: 1 };
  const standIn = 'skip_thought_signature_validator';

  /** The assistant message that a caller receives for these parts. */
  function told(...parts: readonly object[]): JsonObject {
    const answer = JSON.stringify({ candidates: [{ content: { parts }, finishReason: 'STOP' }] });
    const completion = generatedCompletion(answer, about, (message) => message);
    if (E.isLeft(completion)) throw new Error('It was not read.');
    const [choice] = completion.right['choices'] as readonly JsonObject[];
    return choice!['message'] as JsonObject;
  }

  const partsOf = (message: object, model = newer): readonly JsonObject[] => {
    const [, turn] = sent({ messages: [hi, message] }, model)['contents'] as readonly JsonObject[];
    return turn!['parts'] as readonly JsonObject[];
  };
  const signatures = (message: object, model = newer) =>
    partsOf(message, model).map((part) => part['thoughtSignature']);
  const call = (id: string, more: object = {}) => ({
    id,
    type: 'function',
    function: { name: 'f', arguments: '{}' },
    ...more,
  });

  it('return to their calls, whether the caller keeps them in `extra_content` or in `provider_metadata`', () => {
    const aCall = fc.record({
      functionCall: fc.constant({ name: 'f', args: {} }),
      thoughtSignature: fc.option(fc.string({ minLength: 1 }), { nil: undefined }),
    });
    fc.assert(
      fc.property(
        fc.array(aCall, { minLength: 1, maxLength: 4 }),
        fc.constantFrom('calls', 'metadata', 'both'),
        fc.constantFrom(older, newer),
        (parts, keeps, model) => {
          const { provider_metadata, tool_calls, ...message } = told({ text: 'hm', thought: true }, ...parts);
          const calls = (tool_calls as readonly JsonObject[]).map(({ extra_content, ...each }) =>
            keeps === 'metadata' ? each : { ...each, extra_content },
          );
          const kept = keeps === 'calls' ? {} : { provider_metadata };
          const first = model === newer ? standIn : undefined;
          expect(signatures({ ...message, ...kept, tool_calls: calls }, model)).toEqual(
            parts.map(({ thoughtSignature }, place) => thoughtSignature ?? (place === 0 ? first : undefined)),
          );
        },
      ),
      { numRuns: 100 },
    );
  });

  it('have a placeholder only where the first call of a turn has no signature', () => {
    const own = { extra_content: { google: { thought_signature: 's' } } };
    expect(signatures({ role: 'assistant', tool_calls: [call('a', own), call('b')] })).toEqual([
      's',
      undefined,
    ]);
    expect(signatures({ role: 'assistant', tool_calls: [call('a'), call('b', own)] })).toEqual([
      standIn,
      's',
    ]);
    const inMetadata = { provider_metadata: { cloud_a_platform: { thought_signature: 's' } } };
    expect(signatures({ role: 'assistant', tool_calls: [call('a', inMetadata)] })).toEqual(['s']);
  });

  it('in the metadata without a call id go to the first call, if the message has no text', () => {
    const reasoning = [
      { type: 'thinking', thinking: 'hm' },
      { type: 'thinking', thinking: '', signature: 's' },
    ];
    const message = {
      role: 'assistant',
      provider_metadata: { cloud_a_platform: { reasoning } },
      tool_calls: [call('a'), call('b')],
    };
    expect(signatures({ ...message, content: null })).toEqual(['s', undefined]);
    expect(signatures({ ...message, content: 'Well' })).toEqual([undefined, standIn, undefined]);
  });

  it('are dropped with their thoughts, which are never sent upstream', () => {
    const message = told({ text: 'hm', thought: true, thoughtSignature: 's' }, { text: 'Yes' });
    expect(partsOf(message)).toEqual([{ text: 'Yes' }]);
  });

  it('of images are sent upstream with their images', () => {
    const image = { inlineData: { mimeType: 'image/png', data: 'AA' }, thoughtSignature: 's' };
    const another = { inlineData: { mimeType: 'image/png', data: 'BB' } };
    expect(partsOf(told({ text: 'Here:' }, image, another))).toEqual([{ text: 'Here:' }, image, another]);
    expect(partsOf(told({ text: 'Here:', ...another }))).toEqual([{ text: 'Here:' }, another]);
    const foreign = { role: 'assistant', images: [{ type: 'file', file: {} }] };
    expect(refused({ messages: [hi, foreign] }).param).toBe('messages[1].images[0].type');
  });

  it('survive a round trip through the messages family, whole and streamed', () => {
    const answer = {
      candidates: [
        {
          content: {
            parts: [
              { functionCall: { id: 'a', name: 'f', args: { n: 1 } }, thoughtSignature: 's' },
              { functionCall: { id: 'b', name: 'g', args: {} } },
            ],
          },
          finishReason: 'STOP',
        },
      ],
    };
    const names = { id: 'msg_1', model: 'm' };
    const completion = generatedCompletion(JSON.stringify(answer), about, (message) => message);
    const message = E.isRight(completion) ? fromChatCompletion(completion.right, names) : completion;
    const whole = E.isRight(message) ? (message.right['content'] as readonly JsonObject[]) : [];
    const machine = andThen(
      andThen(sseFrames, seal(generateContentStream(about, (text) => text))),
      seal(messagesStream(names)),
    );
    const events = outputsOf(machine, [Buffer.from(`data: ${JSON.stringify(answer)}\n\n`)]);
    const started = events.flatMap((event) =>
      event.kind === 'chunk' && event.chunk['type'] === 'content_block_start'
        ? [event.chunk['content_block'] as JsonObject]
        : [],
    );
    const inputs = [{ n: 1 }, {}];
    expect(started.map((block, index) => ({ ...block, input: inputs[index] }))).toEqual(whole);
    expect(whole[0]).toMatchObject({
      type: 'tool_use',
      extra_content: { google: { thought_signature: 's' } },
    });
    const replayed = JSON.stringify({
      model: 'm',
      max_tokens: 5,
      messages: [hi, { role: 'assistant', content: whole }],
    });
    const document = parseDocument(replayed, messagesWatched, parseExact);
    const ask = E.isRight(document) ? readMessagesRequest(document.right) : undefined;
    const chat = ask !== undefined && E.isRight(ask) ? toChatBody(ask.right) : undefined;
    const body = chat !== undefined && E.isRight(chat) ? chat.right : {};
    expect(signatures((body['messages'] as readonly JsonObject[])[1]!)).toEqual(['s', undefined]);
  });
});
