import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { observeEmbeddings, readEmbeddings } from '../../../domain/embeddings/embeddings-answer.ts';

const sanitise = (message: string): string => message.replaceAll('hunter2', '[REDACTED]');
const read = (text: string) => readEmbeddings(text, sanitise);
const fault = (message: string) => E.left({ kind: 'protocol', message });

describe('an embeddings response of an upstream', () => {
  it.each<[string, object]>([
    ['float vectors', { object: 'list', data: [{ object: 'embedding', index: 0, embedding: [0.1, -2] }] }],
    [
      'base64 vectors',
      { object: 'list', data: [{ index: 0, embedding: 'AAAA' }], usage: { total_tokens: 1 } },
    ],
    ['no vectors', { data: [] }],
    ...['', {}, false, [], { code: null, message: '' }].map((error): [string, object] => [
      `an error of ${JSON.stringify(error)}`,
      { data: [], error },
    ]),
    ['an error of null', { data: [], error: null }],
  ])('is parsed: %s', (_, answer) => {
    expect(read(JSON.stringify(answer))).toEqual(E.right(answer));
  });

  it.each<[string, string, string]>([
    ['no JSON', '<html>', 'The upstream answered with something that is not a JSON object.'],
    ['an array', '[[0.1]]', 'The upstream answered with something that is not a JSON object.'],
    ['null', 'null', 'The upstream answered with something that is not a JSON object.'],
    ['an empty object', '{}', 'The upstream answered without `data`.'],
    ['data that is no list', '{"data":{"embedding":[]}}', 'The upstream answered without `data`.'],
    ['an empty error and no data', '{"error":{}}', 'The upstream reported an error.'],
    ['an error body', '{"error":{"message":"No such model."}}', 'No such model.'],
    ['an error beside data', '{"error":"m","data":[]}', 'm'],
    ['an error without a message', '{"error":{"code":5},"data":[]}', 'The upstream reported an error.'],
    ['another envelope', '{"detail":"Not found"}', 'Not found'],
    ['a secret', '{"error":{"message":"bad key hunter2"}}', 'bad key [REDACTED]'],
  ])('is a protocol fault of the upstream: %s', (_, text, message) => {
    expect(read(text)).toEqual(fault(message));
  });

  it('that is an error keeps the usage that it reports', () => {
    const usage = { prompt_tokens: 8, total_tokens: 8 };
    expect(read(JSON.stringify({ error: 'm', data: [], usage }))).toEqual(
      E.left({ kind: 'protocol', message: 'm', usage }),
    );
  });

  it('is parsed without an exception, for any text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string()), (text) => {
        const answer = read(text);
        return E.isLeft(answer) || Array.isArray(answer.right['data']);
      }),
    );
  });
});

describe('usage of embeddings', () => {
  const tokens = (promptTokens: number) => ({
    promptTokens,
    completionTokens: 0,
    totalTokens: promptTokens,
  });

  it.each<[string, object, object | undefined, boolean]>([
    ['prompt and total', { usage: { prompt_tokens: 8, total_tokens: 8 } }, tokens(8), false],
    ['a total alone', { usage: { total_tokens: 8 } }, tokens(8), false],
    ['a prompt count alone', { usage: { prompt_tokens: 8 } }, tokens(8), false],
    ['no usage', {}, undefined, false],
    ['usage of null', { usage: null }, undefined, false],
    ['usage without counts', { usage: {} }, undefined, true],
    ['counts that cannot be used', { usage: { prompt_tokens: -8 } }, undefined, true],
  ])('%s', (_, answer, usage, usageUnusable) => {
    expect(observeEmbeddings(answer as never)).toEqual({ usage, usageUnusable, invokedToolCount: 0 });
  });
});
