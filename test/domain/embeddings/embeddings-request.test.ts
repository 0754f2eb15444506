import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { embeddingsWatched, readEmbeddingsRequest } from '../../../domain/embeddings/embeddings-request.ts';
import { parseDocument } from '../../../domain/shared/json-document.ts';

const read = (body: object) => {
  const document = parseDocument(JSON.stringify(body), embeddingsWatched);
  if (E.isLeft(document)) throw new Error(document.left.message);
  return readEmbeddingsRequest(document.right);
};

describe('`model` and `input` of an embeddings request are validated, and named in the error', () => {
  const model = '`model` must be a non-empty string.';
  const input = '`input` must be a string or a non-empty array.';

  it.each<[string, object, string, string]>([
    ['no model', { model: undefined }, 'model', model],
    ['an empty model', { model: '' }, 'model', model],
    ['a model that is no string', { model: ['fast'] }, 'model', model],
    ['no input', { input: undefined }, 'input', input],
    ['input of null', { input: null }, 'input', input],
    ['an empty array', { input: [] }, 'input', input],
    ['an object', { input: { text: 'Hi' } }, 'input', input],
    ['a number', { input: 7 }, 'input', input],
  ])('%s', (_, over, param, message) => {
    expect(read({ model: 'fast', input: 'Hi', ...over })).toEqual(
      E.left({ code: 'invalid_request', message, param }),
    );
  });

  it.each<[string, object]>([
    ['a string', { input: 'Hi' }],
    ['an empty string', { input: '' }],
    ['strings', { input: ['Hi', 'Ho'] }],
    ['a string that is empty among others', { input: ['Hi', ''] }],
    ['tokens', { input: [1, 2, 3] }],
    ['arrays of tokens', { input: [[1], [2]] }],
    ['parts', { input: [{ type: 'text', text: 'Hi' }] }],
    ['base64', { input: 'Hi', encoding_format: 'base64' }],
    [
      'fields of any provider',
      { input: 'Hi', dimensions: 256, user: 'u', input_type: 'query', stream: true },
    ],
  ])('every shape of input is accepted, since support depends on the provider: %s', (_, fields) => {
    expect(read({ model: 'fast', ...fields })).toEqual(
      E.right({
        document: expect.objectContaining({ value: { model: 'fast', ...fields } }),
        model: 'fast',
        stream: false,
        needs: ['embeddings'],
        exposedToolCount: undefined,
      }),
    );
  });

  it.each([
    ['{"model":"a","\\u006dodel":"b"}', 'model'],
    ['{"input":"a","input":["b"]}', 'input'],
  ])('a repeated key at the top level is rejected: %s', (text, path) => {
    expect(parseDocument(text, embeddingsWatched)).toEqual(E.left(expect.objectContaining({ path })));
  });
});
