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

describe('how an upstream that speaks the messages body is spoken to', () => {
  it('the path tells whether the answer is to be streamed', () => {
    expect(sent({}).path).toBe('/models/claude-opus-4-6:whole');
    expect(sent({}, call({ stream: true })).path).toBe('/models/claude-opus-4-6:stream');
  });

  it('headers: those of the style, then of the provider, then of the route; no header of the caller’s', () => {
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

  it('allow-listed betas are a header on endpointb_messages, beside those of the route, and in the body elsewhere', () => {
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

  it('a request that cannot be said is left, by field', () => {
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

  it('only an event stream is read as one, and a style without streaming reads none', () => {
    const { chat_completions, messages, count_tokens } = messagesDialects(style(), context);
    expect(count_tokens.events).toBeUndefined();
    for (const dialect of [chat_completions, messages]) {
      expect(dialect.events?.('text/event-stream; charset=utf-8', call())).toBeDefined();
      expect(dialect.events?.('application/json', call())).toBeUndefined();
    }
    for (const dialect of Object.values(messagesDialects(style({ streams: false }), context)))
      expect(dialect.events).toBeUndefined();
  });

  it('whole answers: translated for chat, byte for byte for messages', () => {
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
