import { expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { askedStops } from '../../../domain/chat/stop-sequences.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';

it.each<[JsonObject, object | undefined]>([
  [{}, undefined],
  [{ stop: null, stop_sequences: null }, undefined],
  [{ stop: 'a' }, { field: 'stop', value: ['a'] }],
  [{ stop: ['a', 'b'] }, { field: 'stop', value: ['a', 'b'] }],
  [{ stop_sequences: ['a'] }, { field: 'stop_sequences', value: ['a'] }],
  [
    { stop: 'a', stop_sequences: ['a'] },
    { field: 'stop_sequences', value: ['a'] },
  ],
])('the stop sequences of %j are %j', (body, expected) => {
  expect(askedStops(body)).toEqual(E.right(expected));
});

it.each<JsonObject>([
  { stop: 'a', stop_sequences: ['b'] },
  { stop: 'a', stop_sequences: ['a', 'b'] },
  { stop: ['a', 'b'], stop_sequences: ['b', 'a'] },
  { stop: [], stop_sequences: ['a'] },
])('%j is rejected because its stop sequences contradict each other', (body) => {
  expect(askedStops(body)).toMatchObject(E.left({ code: 'invalid_request', param: 'stop_sequences' }));
});
