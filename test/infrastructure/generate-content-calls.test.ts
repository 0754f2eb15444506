import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { messagesStream } from '../../domain/messages/messages-stream.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { andThen, seal } from '../../domain/shared/stream-machine.ts';
import { generatedCompletion } from '../../infrastructure/providers/cloud-a/generate-content-response.ts';
import { framed } from '../support/arbitraries/generate-content-streams.ts';
import { outputsOf } from '../support/machine-laws.ts';
import {
  about,
  done,
  type Event,
  failure,
  finish,
  lastOf,
  machines,
  mebibyte,
  parts,
  sanitise,
  stream,
  textOf,
} from './generate-content-told.ts';

/** A tool call as a client sees it. */
type Told = readonly [id: unknown, name: unknown, text: string, signature: unknown];

const toldIn = (choice: JsonObject, of: 'delta' | 'message') =>
  ((choice[of] as JsonObject)['tool_calls'] ?? []) as readonly JsonObject[];

const signatureOf = (call: JsonObject): unknown =>
  (call['extra_content'] as { google: JsonObject } | undefined)?.google['thought_signature'];

/** The tool calls of a stream with one choice, assembled from their deltas as a client does. */
function streamed(events: readonly Event[]): readonly Told[] {
  const calls: Told[] = [];
  for (const event of events) {
    const choices = event.kind === 'chunk' ? (event.chunk['choices'] as readonly JsonObject[]) : [];
    for (const piece of choices.flatMap((choice) => toldIn(choice, 'delta'))) {
      const at = piece['index'] as number;
      const { name, arguments: text } = piece['function'] as JsonObject;
      const before = calls[at] ?? [piece['id'], name, '', undefined];
      calls[at] = [before[0], before[1], before[2] + (text as string), signatureOf(piece) ?? before[3]];
    }
  }
  return calls;
}

const wholeOf = (all: readonly object[]) =>
  generatedCompletion(
    textOf({ candidates: [{ content: { parts: all }, finishReason: 'STOP' }] }),
    about,
    sanitise,
  );

function whole(all: readonly object[]): readonly Told[] {
  const completion = wholeOf(all);
  if (E.isLeft(completion)) throw new Error(JSON.stringify(completion.left));
  const [choice] = completion.right['choices'] as readonly JsonObject[];
  return toldIn(choice!, 'message').map((each) => {
    const { name, arguments: text } = each['function'] as JsonObject;
    return [each['id'], name, text as string, signatureOf(each)];
  });
}

const call = (functionCall: object, thoughtSignature?: string) => ({
  functionCall,
  ...(thoughtSignature === undefined ? {} : { thoughtSignature }),
});
const piece = (jsonPath: string, stringValue: string, more: object = { willContinue: true }) =>
  call({ partialArgs: [{ jsonPath, stringValue }], ...more });
const events = (all: readonly object[]) => [...all.map((each) => parts(each)), finish('STOP')];

/** Expects the same tool calls from a stream and from a whole response. */
function expectCalls(all: readonly object[], told: readonly Told[]): void {
  const answer = stream(events(all));
  expect(lastOf(answer)).toEqual(done);
  expect(streamed(answer)).toEqual(told);
  expect(whole(all)).toEqual(told);
}

function expectFailure(all: readonly object[], message: string): void {
  expect(lastOf(stream(events(all)))).toEqual(failure(message));
  expect(wholeOf(all)).toEqual(E.left({ kind: 'protocol', message }));
}

const f = { id: 'a', name: 'f', args: { x: 1 } };

describe('a tool call repeated with the same id, name and arguments', () => {
  it('is returned as one call, with the first thought signature of any copy', () => {
    const told = ['a', 'f', '{"x":1}', 's'] as const;
    expectCalls([call(f), call(f, 's')], [told]);
    expectCalls([call(f, 's'), call(f)], [told]);
    expectCalls([call(f, 's'), call(f, 't')], [told]);
    expectCalls([call(f, 's'), call(f, 's'), call(f, 't')], [told]);
    expectCalls(
      [call(f), call({ name: 'g' }), call(f, 's')],
      [told, ['call_7f3a_0_1', 'g', '{}', undefined]],
    );
  });

  it('streams its thought signature once, on the index of the call', () => {
    const pieces = stream(events([call(f), call(f, 's'), call(f, 's')])).flatMap((event) =>
      event.kind === 'chunk'
        ? (event.chunk['choices'] as readonly JsonObject[]).flatMap((choice) => toldIn(choice, 'delta'))
        : [],
    );
    expect(pieces).toEqual([
      { index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
      {
        index: 0,
        function: { arguments: '' },
        extra_content: { google: { thought_signature: 's' } },
      },
    ]);
    expect(JSON.stringify(wholeOf([call(f), call(f, 's')]))).toContain('"signature":"s","tool_call_id":"a"');
  });

  it('is returned as one call where the first copy arrived in pieces', () => {
    const all = [call({ id: 'a', name: 'f', willContinue: true }), piece('$.x', 'y', { id: 'a' })];
    const again = call({ id: 'a', name: 'f', args: { x: 'y' } }, 's');
    expectCalls([...all, again], [['a', 'f', '{"x":"y"}', 's']]);
  });

  it.each([
    ['other arguments', { ...f, args: { x: 2 } }, ['a', 'f', '{"x":2}', 's']],
    ['another name', { ...f, name: 'g' }, ['a', 'g', '{"x":1}', 's']],
    ['another id', { ...f, id: 'b' }, ['b', 'f', '{"x":1}', 's']],
    ['no id', { name: 'f', args: { x: 1 } }, ['call_7f3a_0_1', 'f', '{"x":1}', 's']],
    ['an id that is none', { ...f, id: 7 }, ['call_7f3a_0_1', 'f', '{"x":1}', 's']],
    ['an empty id', { ...f, id: '' }, ['call_7f3a_0_1', 'f', '{"x":1}', 's']],
  ] as const)('is a second call where the copy has %s', (_case, other, told) => {
    expectCalls([call(f), call(other, 's')], [['a', 'f', '{"x":1}', undefined], told]);
  });

  it('is a second call where the arguments of the copy are still to follow', () => {
    const none = { id: 'a', name: 'f', args: {} };
    expectCalls(
      [call(none), call({ ...none, willContinue: true }), piece('$.x', 'A', { id: 'a' })],
      [
        ['a', 'f', '{}', undefined],
        ['a', 'f', '{"x":"A"}', undefined],
      ],
    );
  });
});

describe('argument pieces of a tool call', () => {
  const open = (id: string, name = 'f') => call({ id, name, willContinue: true });

  it('are added to the call with their id where several calls are open', () => {
    expectCalls(
      [
        open('a'),
        open('b', 'g'),
        piece('$.x', 'A', { id: 'a', willContinue: true }),
        piece('$.x', 'B', { id: 'b', willContinue: true }),
        piece('$.x', 'a', { id: 'a' }),
        piece('$.x', 'b', { id: 'b' }),
      ],
      [
        ['a', 'f', '{"x":"Aa"}', undefined],
        ['b', 'g', '{"x":"Bb"}', undefined],
      ],
    );
  });

  it('become consecutive content blocks in a messages stream, although they arrive interleaved', () => {
    const all = [open('a'), open('b', 'g'), piece('$.x', 'B', { id: 'b' }), piece('$.x', 'A', { id: 'a' })];
    const machine = andThen(machines.sse, seal(messagesStream({ id: 'msg_1', model: 'asked' })));
    const told = outputsOf(machine, [framed('sse', events(all).map(textOf))]);
    expect(told.at(-1)).toEqual(done);
    const shown = told.flatMap((event) => (event.kind === 'chunk' ? [event.chunk] : []));
    expect(shown.filter(({ index }) => index !== undefined)).toMatchObject([
      { type: 'content_block_start', index: 0, content_block: { id: 'a' } },
      { type: 'content_block_delta', index: 0, delta: { partial_json: '{"x":"A"}' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: { id: 'b' } },
      { type: 'content_block_delta', index: 1, delta: { partial_json: '{"x":"B"}' } },
      { type: 'content_block_stop', index: 1 },
    ]);
  });

  it('are added to one call where each piece repeats its id and name', () => {
    const again = { id: 'a', name: 'f' };
    expectCalls(
      [
        open('a'),
        piece('$.x', 'A', { ...again, willContinue: true }),
        piece('$.x', 'a', { ...again, willContinue: true }),
        call(again),
      ],
      [['a', 'f', '{"x":"Aa"}', undefined]],
    );
  });

  it('without an id, or with an unknown id, are added to the call that was read last', () => {
    const told: readonly Told[] = [
      ['a', 'f', '{}', undefined],
      ['b', 'f', '{"x":"Bb"}', undefined],
    ];
    expectCalls([open('a'), open('b'), piece('$.x', 'B'), piece('$.x', 'b', {})], told);
    const stray = piece('$.x', 'B', { id: 'z', willContinue: true });
    expectCalls([open('a'), open('b'), stray, piece('$.x', 'b', {})], told);
  });

  it('without an id end where a call with an id begins', () => {
    expectCalls(
      [call({ name: 'f', willContinue: true }), piece('$.x', 'A'), call({ id: 'b', name: 'g' }), call({})],
      [
        ['call_7f3a_0_0', 'f', '{"x":"A"}', undefined],
        ['b', 'g', '{}', undefined],
      ],
    );
  });

  it.each([
    ['another name', { name: 'g', args: {} }, 'g'],
    ['the same name', { name: 'f', args: {} }, 'f'],
  ])('without an id end where a call without an id begins, with %s', (_case, next, name) => {
    expectCalls(
      [call({ name: 'f', willContinue: true }), piece('$.x', 'A'), call(next)],
      [
        ['call_7f3a_0_0', 'f', '{"x":"A"}', undefined],
        ['call_7f3a_0_1', name, '{}', undefined],
      ],
    );
  });

  it('end where a call with the same id and another name begins', () => {
    expectCalls(
      [open('a'), piece('$.x', 'A', { id: 'a', willContinue: true }), call({ id: 'a', name: 'g' })],
      [
        ['a', 'f', '{"x":"A"}', undefined],
        ['a', 'g', '{}', undefined],
      ],
    );
  });

  it('may carry the thought signature of their call', () => {
    const signed = { ...piece('$.x', 'A'), thoughtSignature: 's' };
    expectCalls([open('a'), signed, call({})], [['a', 'f', '{"x":"A"}', 's']]);
  });

  it('are assembled in a whole response, too', () => {
    expectCalls(
      [call({ name: 'f', willContinue: true }), piece('$.x', 'A'), call({})],
      [['call_7f3a_0_0', 'f', '{"x":"A"}', undefined]],
    );
  });

  it.each([
    ['pieces', piece('$.x', 'A')],
    ['the last piece', piece('$.x', 'A', {})],
    ['arguments in whole', call({ args: { x: 1 } })],
    ['arguments with an id', call({ id: 'a', args: { x: 1 } })],
  ])('fail the response where no call is open: %s', (_case, wrong) => {
    const message = 'The upstream sent arguments of a tool call that has no name.';
    expectFailure([wrong], message);
    expectFailure([call(f), wrong], message);
  });

  it.each([
    ['nothing', {}],
    ['an empty name', { name: '' }],
    ['no arguments', { args: {}, partialArgs: [] }],
  ])('with %s are ignored where no call is open', (_case, empty) => {
    expectCalls([call(empty), call(f), call(empty)], [['a', 'f', '{"x":1}', undefined]]);
  });

  it('have one buffer limit for all open calls together', () => {
    const many = Array.from({ length: 5 }, (_, at) => [
      open(`${at}`),
      piece('$.x', 'x'.repeat(mebibyte), { id: `${at}`, willContinue: true }),
    ]).flat();
    expectFailure(many, 'The upstream sent arguments of a tool call that cannot be put together.');
    const ended = many.flatMap((each, at) => (at % 2 === 0 ? [each] : [each, call({})]));
    expect(lastOf(stream(events(ended)))).toEqual(done);
  });
});

it.each(['', 'Look.'])('a part with both a tool call and the text %j yields both', (text) => {
  const both = { text, ...call(f, 's') };
  expectCalls([both], [['a', 'f', '{"x":1}', 's']]);
  const told = JSON.stringify(wholeOf([both]));
  expect(told).toContain(`"content":${text === '' ? 'null' : '"Look."'}`);
  expect(told.match(/"signature"/g)).toHaveLength(1);
});

it('a stream yields the same tool calls as the whole response, and fails where the whole response fails', () => {
  const aCall = fc.record(
    {
      id: fc.constantFrom('a', 'b'),
      name: fc.constantFrom('f', 'g'),
      args: fc.constantFrom({ x: 1 }, { y: 'z' }),
      partialArgs: fc.constantFrom(
        [{ jsonPath: '$.x', stringValue: 'A' }],
        [{ jsonPath: '$.y[0]', boolValue: true }],
      ),
      willContinue: fc.boolean(),
    },
    { requiredKeys: [] },
  );
  const aPart = fc.tuple(aCall, fc.constantFrom(undefined, 's', 't')).map(([each, sign]) => call(each, sign));
  fc.assert(
    fc.property(fc.array(fc.array(aPart, { maxLength: 3 }), { maxLength: 6 }), (spread) => {
      const answer = stream([...spread.map((some) => parts(...some)), finish('STOP')]);
      const fails = E.isLeft(wholeOf(spread.flat()));
      expect(lastOf(answer)!.kind).toBe(fails ? 'failed' : 'done');
      if (!fails) expect(streamed(answer)).toEqual(whole(spread.flat()));
    }),
    { numRuns: 1000 },
  );
});
