import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import * as fc from 'fast-check';
import { toChatBody } from '../../domain/messages/to-chat.ts';
import { messagesWatched, readMessagesRequest } from '../../domain/messages/messages-request.ts';
import { isArray, type Json, type JsonObject, objectsOf, parseExact } from '../../domain/shared/json.ts';
import { parseDocument } from '../../domain/shared/json-document.ts';
import {
  endpointbRules,
  invokeRules,
  rawPredictRules,
} from '../../infrastructure/providers/messages-body/rules.ts';
import { boundedToolId } from '../../infrastructure/providers/messages-body/tool-ids.ts';
import { textDigest } from '../../infrastructure/text-digest.ts';
import { aConversation } from '../support/arbitraries/messages.ts';
import { minimal, outbound, refusal, sent, styles, user } from './messages-body-sending.ts';

const boundId = boundedToolId(textDigest);

describe('a minimal body', () => {
  it('platform A: `model` is not in the JSON body; it carries `anthropic_version: vertex-2023-10-16`', () => {
    expect(sent(minimal)).toEqual({
      max_tokens: 100,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
      anthropic_version: 'vertex-2023-10-16',
    });
    expect(sent({ ...minimal, stream: true }, rawPredictRules, { stream: true })).toMatchObject({
      stream: true,
    });
  });

  it('platform B, invoke: the body always has `anthropic_version: bedrock-2023-05-31`, and never `stream`', () => {
    expect(sent({ ...minimal, stream: false, anthropic_version: 'x' }, invokeRules)).toEqual({
      max_tokens: 100,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
      anthropic_version: 'bedrock-2023-05-31',
    });
  });

  it('platform B, endpointb_messages: the body names the model', () => {
    expect(
      sent({ ...minimal, stream: true }, endpointbRules, {
        upstreamModel: 'anthropic.claude-opus-4-6-v1',
        stream: true,
      }),
    ).toEqual({
      max_tokens: 100,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
      model: 'anthropic.claude-opus-4-6-v1',
      stream: true,
    });
  });
});

describe('messages', () => {
  it('that end with the assistant are sent without white space at the end, because models refuse to continue it', () => {
    const said = (content: unknown) => [
      user,
      { role: 'assistant', content: ' One: \n' },
      user,
      { role: 'assistant', content },
    ];
    for (const content of ['Two: \n', [{ type: 'text', text: 'Two: \n' }]])
      for (const [, rules] of styles)
        expect(
          (sent({ ...minimal, messages: said(content) }, rules) as { messages: object[] }).messages,
        ).toMatchObject([
          {},
          { content: [{ type: 'text', text: ' One: \n' }] },
          {},
          { content: [{ type: 'text', text: 'Two:' }] },
        ]);
  });

  it('that end with the user or with a call are sent unchanged', () => {
    const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } };
    const last = { role: 'assistant', content: 'Two: ', tool_calls: [call] };
    const told = (messages: object[]) => (sent({ ...minimal, messages }) as { messages: object[] }).messages;
    expect(told([{ role: 'user', content: 'One: ' }])).toMatchObject([{ content: [{ text: 'One: ' }] }]);
    expect(told([user, last])).toMatchObject([{}, { content: [{ text: 'Two: ' }, { type: 'tool_use' }] }]);
  });

  it('system and developer text is combined as `system`, at any position', () => {
    expect(
      sent({
        ...minimal,
        messages: [
          { role: 'system', content: 'One.' },
          user,
          {
            role: 'developer',
            content: [
              { type: 'text', text: 'Two.' },
              { type: 'text', text: 'Three.' },
            ],
          },
          { role: 'assistant', content: 'Hello.' },
          { role: 'system', content: '' },
        ],
      }),
    ).toMatchObject({
      system: 'One.\n\nTwo.\n\nThree.',
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
        { role: 'assistant', content: [{ type: 'text', text: 'Hello.' }] },
      ],
    });
  });

  it('system text may have 200,000 parts', () => {
    const content = Array.from({ length: 200_000 }, () => ({ type: 'text', text: 'a' }));
    const { system } = sent({ ...minimal, messages: [{ role: 'system', content }, user] });
    expect(system).toBeDefined();
  });

  it('calls and results become blocks; consecutive results are one user turn, before the text of the user', () => {
    const call = (id: string, name: string, text: string) => ({
      id,
      type: 'function',
      function: { name, arguments: text },
    });
    expect(
      sent({
        ...minimal,
        messages: [
          user,
          {
            role: 'assistant',
            content: null,
            refusal: null,
            function_call: null,
            tool_calls: [
              call('toolu_1', 'weather', '{"city":"Ulm"}'),
              call('toolu_2', 'time', ''),
              call('toolu_3', 'time', '{}'),
            ],
          },
          { role: 'tool', tool_call_id: 'toolu_1', content: 'Rain.' },
          { role: 'user', content: 'Well?' },
          { role: 'tool', tool_call_id: 'toolu_2', content: [{ type: 'text', text: 'Noon.' }] },
          { role: 'tool', tool_call_id: 'toolu_3', content: '' },
        ],
      })['messages'],
    ).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Ulm' } },
          { type: 'tool_use', id: 'toolu_2', name: 'time', input: {} },
          { type: 'tool_use', id: 'toolu_3', name: 'time', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'toolu_1', content: 'Rain.' },
          { type: 'tool_result', tool_use_id: 'toolu_2', content: [{ type: 'text', text: 'Noon.' }] },
          { type: 'tool_result', tool_use_id: 'toolu_3' },
          { type: 'text', text: 'Well?' },
        ],
      },
    ]);
  });

  it('arguments keep every digit; those that are not a JSON object are sent as `_raw_arguments`', () => {
    const calling = (text: string): string =>
      JSON.stringify({
        ...minimal,
        messages: [
          user,
          {
            role: 'assistant',
            content: '',
            tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: text } }],
          },
        ],
      });
    const exact = outbound(calling('{"n":9007199254740993,"x":1.50}'), rawPredictRules);
    expect(E.isRight(exact) && exact.right.text).toContain('"input":{"n":9007199254740993,"x":1.50}');
    const broken = outbound(calling('{"n":'), rawPredictRules);
    expect(E.isRight(broken) && broken.right.text).toContain('"input":{"_raw_arguments":"{\\"n\\":"}');
  });

  it('preserved reasoning is never sent back: request-side replay is not performed', () => {
    const body = {
      ...minimal,
      messages: [
        user,
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'SECRET' },
            { type: 'redacted_thinking', data: 'SECRET' },
            { type: 'reasoning', text: 'SECRET' },
            { type: 'text', text: 'Hello.' },
          ],
          reasoning: 'SECRET',
          reasoning_content: 'SECRET',
          provider_metadata: {
            cloud_a_platform: { reasoning: [{ type: 'thinking', thinking: 'SECRET', signature: 's' }] },
          },
        },
        { role: 'user', content: 'Go on.' },
      ],
    };
    expect(JSON.stringify(sent(body))).not.toContain('SECRET');
  });

  it('a refusal becomes text of the assistant, and blank content becomes no block', () => {
    expect(
      sent({
        ...minimal,
        messages: [
          user,
          { role: 'user', content: ' ' },
          { role: 'assistant', content: '', refusal: 'No.' },
          { role: 'assistant', content: [{ type: 'refusal', refusal: 'Never.' }] },
          { role: 'assistant', content: '' },
        ],
      })['messages'],
    ).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'No.' },
          { type: 'text', text: 'Never.' },
        ],
      },
    ]);
  });

  it.each<[string, object]>([
    ['messages', { messages: [{ role: 'system', content: 'Alone.' }] }],
    ['messages[0].role', { messages: [{ role: 'function', name: 'f', content: 'x' }] }],
    ['messages[0].content', { messages: [{ role: 'user', content: 7 }] }],
    ['messages[0].content', { messages: [{ role: 'system', content: 7 }, user] }],
    ['messages[1].content', { messages: [user, { role: 'assistant', content: 7 }] }],
    ['messages[1].tool_calls[0]', { messages: [user, { role: 'assistant', tool_calls: [7] }] }],
    ['messages[0].content[0]', { messages: [{ role: 'user', content: ['Hi'] }] }],
    ['messages[0].content[0].type', { messages: [{ role: 'user', content: [{ type: 'input_audio' }] }] }],
    ['messages[0].content[0].type', { messages: [{ role: 'user', content: [{ type: 'file' }] }] }],
    ['messages[0].content[0].text', { messages: [{ role: 'user', content: [{ type: 'text' }] }] }],
    ['messages[1].tool_call_id', { messages: [user, { role: 'tool', content: 'x' }] }],
    ['messages[1].function_call', { messages: [user, { role: 'assistant', function_call: { name: 'f' } }] }],
    [
      'messages[1].tool_calls[0].type',
      { messages: [user, { role: 'assistant', tool_calls: [{ type: 'custom' }] }] },
    ],
    [
      'messages[1].tool_calls[0].id',
      { messages: [user, { role: 'assistant', tool_calls: [{ function: { name: 'f' } }] }] },
    ],
    [
      'messages[1].tool_calls[0].function.name',
      { messages: [user, { role: 'assistant', tool_calls: [{ id: 'a', function: { name: '' } }] }] },
    ],
    [
      'messages[1].tool_calls[0].function.arguments',
      {
        messages: [
          user,
          { role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'f', arguments: {} } }] },
        ],
      },
    ],
  ])('%s is named in the error if it cannot be translated', (param, over) => {
    expect(refusal({ ...minimal, ...over })).toMatchObject({ code: 'invalid_request', param });
  });
});

const aCall = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } };

describe('images', () => {
  const png = { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=', detail: 'low' } };
  const jpeg = { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: 'aGk=' } };
  const remote = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
  const asking = (...parts: readonly object[]) => ({
    ...minimal,
    messages: [{ role: 'user', content: parts }],
  });

  it('invoke: base64 images become image blocks, in tool results too', () => {
    const block = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } };
    expect(sent(asking(png, jpeg), invokeRules)['messages']).toEqual([
      { role: 'user', content: [block, jpeg] },
    ]);
    const result = { role: 'tool', tool_call_id: 'a', content: [png] };
    const messages = [{ role: 'assistant', tool_calls: [aCall] }, user, result];
    expect(sent({ ...minimal, messages }, invokeRules)['messages']).toMatchObject([
      { content: [{ type: 'tool_use', id: 'a' }] },
      {
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: [block] },
          { type: 'text', text: 'Hi' },
        ],
      },
    ]);
  });

  it('invoke: remote URLs are rejected', () => {
    expect(refusal(asking(remote), invokeRules)).toMatchObject({
      param: 'messages[0].content[0].image_url.url',
    });
    const native = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } };
    expect(refusal(asking(native), invokeRules)).toMatchObject({
      param: 'messages[0].content[0].source.type',
    });
  });

  it('endpointb_messages: remote URLs are sent, for the upstream to fetch', () => {
    expect(sent(asking(remote), endpointbRules)['messages']).toEqual([
      {
        role: 'user',
        content: [{ type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }],
      },
    ]);
  });

  it.each(styles.slice(1))('%s: `image_url` may be the URL itself, but not a number', (_, rules) => {
    const bare = { type: 'image_url', image_url: png.image_url.url };
    expect(sent(asking(bare), rules)['messages']).toEqual(sent(asking(png), rules)['messages']);
    const none = { type: 'image_url', image_url: 7 };
    expect(refusal(asking(none), rules)).toMatchObject({ param: 'messages[0].content[0].image_url' });
  });

  it.each([png, jpeg, remote])('platform A: image blocks are refused and named, %p', (part) => {
    expect(refusal(asking(part))).toMatchObject({ param: 'messages[0].content[0].type' });
  });
});

describe('files', () => {
  const file = (file_data: unknown, more: object = {}) => ({ type: 'file', file: { file_data, ...more } });
  const asking = (...content: readonly object[]) => ({ ...minimal, messages: [{ role: 'user', content }] });
  const pdf = 'data:application/pdf;base64,JVBERi0=';
  const bytes = { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' };

  it('endpointb_messages: PDFs become documents, in tool results too, with their file names as titles', () => {
    const read = { type: 'text', text: 'Read it.' };
    const linked = file('https://example.com/b.pdf', { filename: '' });
    const document = { type: 'document', source: bytes, title: 'a.pdf' };
    expect(sent(asking(file(pdf, { filename: 'a.pdf' }), linked, read), endpointbRules)['messages']).toEqual([
      {
        role: 'user',
        content: [
          document,
          { type: 'document', source: { type: 'url', url: 'https://example.com/b.pdf' } },
          read,
        ],
      },
    ]);
    const result = { role: 'tool', tool_call_id: 'a', content: [file(pdf, { filename: 'a.pdf' })] };
    const messages = [{ role: 'assistant', tool_calls: [aCall] }, user, result];
    expect(sent({ ...minimal, messages }, endpointbRules)['messages']).toMatchObject([
      { content: [{ type: 'tool_use' }] },
      { content: [{ type: 'tool_result', content: [document] }, { type: 'text' }] },
    ]);
  });

  it.each([
    ['file', { type: 'file' }],
    ['file.file_data', file(undefined)],
    ['file.file_id', { type: 'file', file: { file_id: 'file-1' } }],
    ['file.file_data', file('JVBERi0=', { filename: 'a.pdf' })],
    ['file.file_data', file('data:application/zip;base64,YQ==')],
    ['file.file_data', file('http://example.com/a.pdf')],
  ])('endpointb_messages: other files are refused, and the field is named, %s', (field, part) => {
    expect(refusal(asking(part), endpointbRules)).toMatchObject({ param: `messages[0].content[0].${field}` });
  });

  it.each(styles.slice(0, 2))('%s: are refused and named', (_, rules) => {
    expect(refusal(asking(file(pdf)), rules)).toMatchObject({ param: 'messages[0].content[0].type' });
  });
});

describe('a messages conversation translated to chat and back', () => {
  const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');

  interface Turn {
    readonly role: unknown;
    readonly content: JsonObject[];
  }

  /** The same conversation in blocks, as the two translations together must produce it. */
  function expectedOf(messages: readonly JsonObject[]): readonly Turn[] {
    const turns: Turn[] = [];
    for (const { role, content } of messages) {
      if (role === 'system') continue;
      const blocks =
        typeof content === 'string' ? [{ type: 'text', text: content }] : (content as JsonObject[]);
      const told = role === 'assistant' ? assistantBlocks(blocks) : blocks.map(userBlock);
      const last = turns.at(-1);
      if (told.length === 0) continue;
      if (last !== undefined && last.role === role) last.content.push(...told);
      else turns.push({ role, content: [...told] });
    }
    const isResult = ({ type }: JsonObject): boolean => type === 'tool_result';
    return withoutSpaceAtEnd(
      turns.map(({ role, content }) => ({
        role,
        content: [...content.filter(isResult), ...content.filter((block) => !isResult(block))],
      })),
    );
  }

  /** Without white space at the end of the last assistant text, because models refuse to continue it. */
  function withoutSpaceAtEnd(turns: readonly Turn[]): readonly Turn[] {
    const last = turns.at(-1);
    const end = last?.content.at(-1);
    if (last?.role !== 'assistant' || typeof end?.['text'] !== 'string') return turns;
    const content = [...last.content.slice(0, -1), { ...end, text: end['text'].trimEnd() }];
    return [...turns.slice(0, -1), { ...last, content }];
  }

  function assistantBlocks(blocks: readonly JsonObject[]): JsonObject[] {
    const text = blocks.map(({ text }) => textIn(text)).join('');
    const uses = blocks
      .filter(({ type }) => type === 'tool_use')
      .map((block) => ({ ...block, id: boundId(textIn(block['id'])) }));
    return [...(text === '' ? [] : [{ type: 'text', text }]), ...uses];
  }

  function userBlock({ is_error, ...block }: JsonObject): JsonObject {
    if (block['type'] !== 'tool_result') return block;
    const words = textIn(block['content']);
    return {
      ...block,
      tool_use_id: boundId(textIn(block['tool_use_id'])),
      content: is_error === true ? `Error: ${words}` : words,
    };
  }

  /** A second call with an id gets an id of its own (rule 20.7). */
  const haveOwnIds = (messages: readonly JsonObject[]): boolean => {
    const ids = messages
      .flatMap(({ content }) => objectsOf(content))
      .flatMap(({ type, id }) => (type === 'tool_use' ? [id] : []));
    return new Set(ids).size === ids.length;
  };

  /** Upstreams reject a result that answers no call: each answers an earlier one, and others are left out. */
  function withAnswers(messages: readonly JsonObject[]): readonly JsonObject[] {
    const calls: Json[] = [];
    let results = 0;
    const answering = (block: JsonObject): readonly JsonObject[] => {
      if (block['type'] === 'tool_use') calls.push(block['id'] ?? null);
      if (block['type'] !== 'tool_result') return [block];
      const id = calls[results++ % calls.length];
      return id === undefined ? [] : [{ ...block, tool_use_id: id }];
    };
    return messages.map(({ content, ...message }) => ({
      ...message,
      content: isArray(content) ? objectsOf(content).flatMap(answering) : (content ?? null),
    }));
  }

  it('keeps texts, images, calls and results, with bounded ids on both sides and every digit', () => {
    fc.assert(
      fc.property(aConversation.filter(haveOwnIds).map(withAnswers), (messages) => {
        const text = JSON.stringify({ model: 'm', max_tokens: 9, messages });
        const document = parseDocument(text, messagesWatched, parseExact);
        if (E.isLeft(document)) throw new Error(document.left.message);
        const request = readMessagesRequest(document.right);
        if (E.isLeft(request)) throw new Error(request.left.message);
        const chat = toChatBody(request.right, 'provider');
        const expected = expectedOf(messages);
        if (E.isLeft(chat)) return expected.length === 0;
        const back = outbound(JSON.stringify(chat.right), endpointbRules);
        if (E.isLeft(back)) return expected.length === 0;
        const told = parseExact(back.right.text) as JsonObject;
        expect(JSON.stringify(told['messages'])).toBe(JSON.stringify(expected));
        return true;
      }),
      { numRuns: 300 },
    );
  });
});
