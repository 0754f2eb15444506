import { expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { askedLimit } from '../../../domain/chat/token-limit.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';

it.each<[JsonObject, object | undefined]>([
  [{}, undefined],
  [{ max_tokens: null, max_completion_tokens: null }, undefined],
  [{ max_tokens: 5 }, { field: 'max_tokens', value: 5 }],
  [
    { max_tokens: null, max_completion_tokens: 5 },
    { field: 'max_completion_tokens', value: 5 },
  ],
  [
    { max_tokens: 5, max_completion_tokens: 5 },
    { field: 'max_completion_tokens', value: 5 },
  ],
])('the token limit of %j is %j', (body, expected) => {
  expect(askedLimit(body)).toEqual(E.right(expected));
});

it.each<JsonObject>([
  { max_tokens: 5, max_completion_tokens: 6 },
  { max_tokens: '5', max_completion_tokens: 5 },
])('%j is rejected because its token limits contradict each other', (body) => {
  expect(askedLimit(body)).toMatchObject(E.left({ code: 'invalid_request', param: 'max_tokens' }));
});
