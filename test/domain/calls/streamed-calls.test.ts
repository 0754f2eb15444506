import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { ChatObserver } from '../../../domain/chat/observe-chat.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import { done, eventsOf, says } from '../messages/messages-stream-told.ts';

const observed = (deltas: readonly JsonObject[]): number => {
  const observer = new ChatObserver();
  for (const delta of deltas) observer.see({ choices: [{ index: 0, delta }] });
  return observer.observed().invokedToolCount;
};

/** How many calls a messages caller gets of the same answer; `undefined` when the answer fails. */
const translated = (deltas: readonly JsonObject[]): number | undefined => {
  const events = eventsOf([...deltas.map(says), done]);
  if (events.some(({ kind }) => kind === 'failed')) return undefined;
  return events.filter(
    (event) =>
      event.kind === 'chunk' &&
      (event.chunk['content_block'] as JsonObject | undefined)?.['type'] === 'tool_use',
  ).length;
};

const aPiece = fc
  .record({
    index: fc.option(fc.nat({ max: 2 }), { nil: undefined }),
    id: fc.constantFrom('', '', 'a', 'b', 7),
    name: fc.constantFrom('', '', 'f', 'g'),
    text: fc.constantFrom('', '{}', '{"a":1}', '{ "a": 1 }', '{"a"', ':1}', 'word'),
  })
  .filter(({ id, name, text }) => id !== '' || name !== '' || text !== '')
  .map(({ index, id, name, text }) => ({
    ...(index === undefined ? {} : { index }),
    id,
    function: { name, arguments: text },
  }));

const aDelta = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.array(aPiece, { minLength: 1, maxLength: 2 }).map((calls) => ({ tool_calls: calls })),
  },
  { weight: 1, arbitrary: aPiece.map(({ function: callee }) => ({ function_call: callee })) },
);

describe('the number of calls in a streamed answer', () => {
  it('is the same in invoked_tool_count and for messages callers', () => {
    fc.assert(
      fc.property(fc.array(aDelta, { maxLength: 5 }), (deltas) => {
        const count = translated(deltas);
        fc.pre(count !== undefined);
        expect(observed(deltas)).toBe(count);
      }),
      { numRuns: 500 },
    );
  });
});
