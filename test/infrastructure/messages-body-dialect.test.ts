import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import type { UpstreamCall } from '../../application/ports/upstream.ts';
import type { Route } from '../../domain/routing/model.ts';
import {
  messagesDialects,
  type MessagesStyle,
} from '../../infrastructure/providers/messages-body/dialect.ts';
import {
  endpointbRules,
  invokeRules,
  rawPredictRules,
} from '../../infrastructure/providers/messages-body/rules.ts';
import { textDigest } from '../../infrastructure/text-digest.ts';
import { aRoute } from '../support/arbitraries/routing.ts';

const context = { sanitise: (message: string) => message, digest: textDigest } as Parameters<
  typeof messagesDialects
>[1];

const style = (over: Partial<MessagesStyle> = {}): MessagesStyle => ({
  rules: rawPredictRules,
  namespace: 'cloud_a_platform',
  streams: true,
  counts: { path: () => '/count', request: (body) => body, field: 'input_tokens' },
  path: ({ route, stream }) => `/models/${route.upstreamModel}:${stream ? 'stream' : 'whole'}`,
  headers: {},
  defaultHeaders: {},
  ...over,
});

const call = (over: Partial<UpstreamCall> & { readonly own?: Partial<Route> } = {}): UpstreamCall => ({
  route: aRoute({ upstreamModel: 'claude-opus-4-6', extraBody: {}, ...over.own }),
  family: 'chat_completions',
  stream: false,
  body: JSON.stringify({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] }),
  answer: { id: 'chatcmpl-1', model: 'fast', createdSecs: 1 },
  betas: [],
  ...over,
});

const sent = (over: Partial<MessagesStyle>, asked: UpstreamCall = call()) => {
  const encoded = messagesDialects(style(over), context)[
    asked.family === 'messages' ? 'messages' : 'chat_completions'
  ].encode(asked);
  if (E.isLeft(encoded)) throw new Error(encoded.left.message);
  return encoded.right;
};

describe('a call to an upstream with the messages body', () => {
  it('has a path that depends on whether the answer is streamed', () => {
    expect(sent({}).path).toBe('/models/claude-opus-4-6:whole');
    expect(sent({}, call({ stream: true })).path).toBe('/models/claude-opus-4-6:stream');
  });

  it('has the headers of the style, overridden by those of the provider and then of the route', () => {
    const { headers } = sent(
      {
        headers: { 'anthropic-version': '2023-06-01', 'x-a': '1', 'x-b': '1' },
        defaultHeaders: { 'X-A': '2', 'x-c': '2' },
      },
      call({ own: { extraHeaders: { 'x-c': '3' } } }),
    );
    expect(headers).toEqual({
      'anthropic-version': '2023-06-01',
      'x-a': '2',
      'x-b': '1',
      'x-c': '3',
      'content-type': 'application/json',
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'model-gateway',
    });
  });

  it('has allow-listed betas in a header on endpointb_messages, after those of the route, and in the body elsewhere', () => {
    const betas = ['context-1m-2025-08-07', 'unknown-2020-01-01'];
    const header = (over: Partial<UpstreamCall> & { readonly own?: Partial<Route> }) =>
      sent({ rules: endpointbRules }, call(over)).headers['anthropic-beta'];
    expect(header({ betas })).toBe('context-1m-2025-08-07');
    expect(header({ betas, own: { extraHeaders: { 'anthropic-beta': 'own' } } })).toBe(
      'own,context-1m-2025-08-07',
    );
    expect(header({})).toBeUndefined();
    for (const rules of [rawPredictRules, invokeRules]) {
      const { headers, body } = sent({ rules }, call({ betas }));
      expect(headers).not.toHaveProperty('anthropic-beta');
      expect(JSON.parse(body)).toMatchObject({ anthropic_beta: ['context-1m-2025-08-07'] });
    }
  });

  it('is refused with the name of the field if the request cannot be translated', () => {
    const { chat_completions: chat, messages } = messagesDialects(style(), context);
    const body = JSON.stringify({ model: 'm', n: 2, messages: [{ role: 'user', content: 'Hi' }] });
    expect(chat.encode(call({ body }))).toMatchObject({
      left: { code: 'invalid_request', param: 'n' },
    });
    const document = JSON.stringify({
      max_tokens: 9,
      messages: [{ role: 'user', content: [{ type: 'document' }] }],
    });
    expect(messages.encode(call({ body: document, family: 'messages' }))).toMatchObject({
      left: { param: 'messages[0].content[0].type' },
    });
  });

  it('reads events only from an event stream, and none in a style without streaming', () => {
    const { chat_completions, messages, count_tokens } = messagesDialects(style(), context);
    expect(count_tokens.events).toBeUndefined();
    for (const dialect of [chat_completions, messages]) {
      expect(dialect.events?.('text/event-stream; charset=utf-8', call())).toBeDefined();
      expect(dialect.events?.('application/json', call())).toBeUndefined();
    }
    for (const dialect of Object.values(messagesDialects(style({ streams: false }), context)))
      expect(dialect.events).toBeUndefined();
  });

  it('has its non-streamed answer translated for chat and unchanged for messages, and an error in it is a fault', () => {
    const body = Buffer.from(
      '{"content":[{"type":"text","text":"Grüße"}],"usage":{"input_tokens":1.0,"output_tokens":2}}',
    );
    const { chat_completions: chat, messages } = messagesDialects(style(), context);
    expect(messages.decode(body, call())).toMatchObject({ right: { text: body } });
    expect(chat.decode(body, call())).toMatchObject({
      right: {
        value: { model: 'fast', choices: [{ message: { content: 'Grüße' } }], usage: { total_tokens: 3 } },
      },
    });
    const refused = Buffer.from('{"type":"error","error":{"message":"No."}}');
    for (const dialect of [chat, messages])
      expect(dialect.decode(refused, call())).toMatchObject({ left: { kind: 'protocol', message: 'No.' } });
  });
});
