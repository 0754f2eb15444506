import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { ResponsesEvent } from '../../../domain/responses/responses-stream.ts';
import { maxStreamEventBytes } from '../../../domain/shared/limits.ts';
import type { Ending } from '../../../domain/shared/stream-machine.ts';
import { chunkingsOf } from '../../support/arbitraries/bytes.ts';
import { eventStreamSoup } from '../../support/arbitraries/event-streams.ts';
import {
  aResponsesScript,
  type ResponsesItem,
  type ResponsesScript,
} from '../../support/arbitraries/responses-streams.ts';
import { describeMachineLaws, outputsOf } from '../../support/machine-laws.ts';
import {
  type Chunk,
  completed,
  created,
  delta,
  endOf,
  errorEvent,
  event,
  eventsOf,
  failedEvent,
  failure,
  machine,
  quota,
  reset,
  response,
  upstreamDone,
  usage,
  wireOf,
} from './responses-stream-told.ts';

const done: ResponsesEvent = { kind: 'done' };
const contradiction = 'The upstream sent an event that contradicts itself.';
const chatInstead = 'The upstream answered a responses request with a chat stream.';
const cutShort = failure('The upstream ended its stream before the answer was complete.');
const broken = failure('The connection to the upstream broke.');

describeMachineLaws('sseFrames, then responsesStream', {
  machine,
  streams: fc.oneof(
    aResponsesScript.map(({ bytes }) => bytes),
    eventStreamSoup,
  ),
  isTerminal: ({ kind }) => kind !== 'chunk',
  endless: {
    piece: Buffer.alloc(1024 * 1024, 'data: {"type":'),
    pushes: 2 * (maxStreamEventBytes / (1024 * 1024)),
    outputs: [failure('The upstream sent an event that is too large.')],
  },
});
const incomplete = event({
  type: 'response.incomplete',
  response: response('incomplete', { usage, incomplete_details: { reason: 'max_output_tokens' } }),
});

describe('one final [DONE] follows only a valid completed or incomplete terminal event', () => {
  it.each<[string, string, readonly string[]]>([
    ['response.completed', '', [created, delta, completed]],
    ['response.incomplete', '', [created, delta, incomplete]],
    ['response.completed alone', '', [completed]],
    ['a terminal event and the upstream’s own [DONE]', upstreamDone, [created, completed]],
    ['a terminal event and [DONE] twice', upstreamDone + upstreamDone, [created, completed]],
    ['a named [DONE]', 'event: done\ndata: [DONE]\n\n', [created, completed]],
    ['[DONE] with blanks around it', 'data:  [DONE] \n\n', [created, completed]],
    ['data after [DONE]', upstreamDone + failedEvent + errorEvent, [created, completed]],
    [
      'events after the terminal event',
      '',
      [created, completed, delta, event({ type: 'vendor.cost', usd: 1 })],
    ],
    ['several answers in one stream', '', [created, completed, created, delta, incomplete]],
  ])('%s', (_, rest, blocks) => {
    expect(endOf([...blocks, rest])).toEqual([blocks.join(''), done]);
  });

  it.each<[string, readonly string[]]>([
    ['nothing at all', []],
    ['no terminal event', [created, delta]],
    [
      'the word completed in a text',
      [created, event({ type: 'response.output_text.done', text: 'completed' })],
    ],
    ['a completed item', [event({ type: 'response.output_item.done', item: { status: 'completed' } })]],
    [
      'a type that only looks terminal',
      [event({ type: 'response.completed.v2', response: response('completed') })],
    ],
    [
      'a status without the event',
      [event({ type: 'response.in_progress', response: response('completed') })],
    ],
  ])('premature EOF is a failure without [DONE]: %s', (_, blocks) => {
    expect(endOf(blocks)).toEqual([blocks.join(''), cutShort]);
  });

  it.each<[string, readonly string[]]>([
    ['at once', []],
    ['after events', [created, delta]],
  ])('[DONE] before the terminal event is a failure, too: %s', (_, blocks) => {
    expect(endOf([...blocks, upstreamDone, completed])).toEqual([blocks.join(''), cutShort]);
  });

  it('each event has its parsed payload and its text', () => {
    const all = [created, delta, completed];
    expect(eventsOf(all).flatMap((each) => (each.kind === 'chunk' ? [[each.chunk, each.text]] : []))).toEqual(
      all.map((block) => {
        const data = /^data: (.*)$/m.exec(block)?.[1] ?? '';
        return [JSON.parse(data), data];
      }),
    );
  });

  it('terminal events are marked as terminal, and held back', () => {
    const events = eventsOf([created, completed, delta, incomplete]);
    expect(events.map((each) => each.kind === 'chunk' && [each.terminal, each.held])).toEqual([
      [false, undefined],
      [true, true],
      [false, undefined],
      [true, true],
      false,
    ]);
  });
});

describe('event names and JSON payloads are preserved', () => {
  it.each<[string, string]>([
    ['a name before the data', 'event: response.created\ndata: {"type":"response.created"}\n\n'],
    [
      'a name after the data, and `type` as the last key',
      'data: {"a":1,"type":"response.created"}\nevent: response.created\n\n',
    ],
    ['no name', 'data: {"type":"response.created"}\n\n'],
    ['a name and no type', 'event: response.created\ndata: {"response":{}}\n\n'],
    ['neither', 'data: {"x":1}\n\n'],
    ['the default name of an event', 'event: message\ndata: {"type":"response.created"}\n\n'],
    ['an empty name', 'event:\ndata: {"type":"response.created"}\n\n'],
    ['CRLF', 'event: response.created\r\ndata: {"type":"response.created"}\r\n\r\n'],
    ['no blanks after the colons', 'event:response.created\ndata:{"type":"response.created"}\n\n'],
    ['several data lines', 'data: {"type":\ndata: "response.created"}\n\n'],
    ['a comment, an id and a retry inside', ': hi\nid: 1\nretry: 5\ndata: {"type":"response.created"}\n\n'],
    ['digits that a number cannot hold', 'data: {"type":"x","n":9007199254740993,"m":0.10}\n\n'],
    ['a repeated key', 'data: {"type":"x","a":1,"a":2}\n\n'],
    ['a refusal', event({ type: 'response.refusal.delta', delta: 'I cannot help.' })],
    ['a refusal’s end', event({ type: 'response.refusal.done', refusal: 'I cannot help.' })],
    ['an event of a vendor', event({ type: 'response.apply_patch_call_operation_diff.delta', delta: '+' })],
    ['a keep-alive', event({ type: 'keepalive', sequence_number: 3 })],
    ['a null error', event({ type: 'response.created', error: null })],
    ['choices beside a type', event({ type: 'vendor.vote', choices: [] })],
    ['code beside a message', event({ type: 'response.vendor_code.done', code: 'x = 1', message: 'm' })],
    ['a message in an event of a vendor', event({ type: 'vendor.status', message: 'queued' })],
    ...['', {}, false, [], { code: null, message: '' }].map((error): [string, string] => [
      `an error of ${JSON.stringify(error)}`,
      event({ type: 'response.created', error, response: response('in_progress', { error }) }),
    ]),
    ['a failed item', event({ type: 'response.output_item.done', item: { status: 'failed' } })],
    ['a failed call', event({ type: 'response.mcp_call.failed', item_id: 'mcp_1' })],
  ])('%s', (_, block) => {
    const events = eventsOf([block, completed]);
    expect(wireOf(events.slice(0, 1))).toBe(block);
    expect(events.map(({ kind }) => kind)).toEqual(['chunk', 'chunk', 'done']);
  });

  it.each([
    ['a comment', ': OPENROUTER PROCESSING\n\n'],
    ['a bare comment', ': \n\n'],
    ['an empty event', 'event: response.created\ndata:\n\n'],
    ['a name without data', 'event: ping\n\n'],
    ['blank lines', '\n\n\n'],
  ])('what is not an event is dropped: %s', (_, block) => {
    expect(endOf([block, created, block, completed, block])).toEqual([created + completed, done]);
  });
});

describe('a type and a status that contradict each other are one failure, without [DONE]', () => {
  const of = (type: string, status: string) => event({ type, response: response(status) });

  it.each<[string, string]>([
    ['completed, but the status is incomplete', of('response.completed', 'incomplete')],
    ['completed, but the status is failed', of('response.completed', 'failed')],
    ['completed, but the status is cancelled', of('response.completed', 'cancelled')],
    ['completed, but the status is in_progress', of('response.completed', 'in_progress')],
    ['completed, but the status is queued', of('response.completed', 'queued')],
    ['incomplete, but the status is completed', of('response.incomplete', 'completed')],
    ['incomplete, but the status is failed', of('response.incomplete', 'failed')],
    ['failed, but the status is completed', of('response.failed', 'completed')],
    ['failed, but the status is cancelled', of('response.failed', 'cancelled')],
    ['cancelled, but the status is completed', of('response.cancelled', 'completed')],
    ['in progress, but the status is failed', of('response.in_progress', 'failed')],
    ['in progress, but the status is cancelled', of('response.output_item.done', 'cancelled')],
    [
      'completed with an error inside',
      event({ type: 'response.completed', response: response('completed', { error: quota }) }),
    ],
    ['a terminal event without a response', event({ type: 'response.completed' })],
    ['a terminal event whose response is null', event({ type: 'response.incomplete', response: null })],
    [
      'a terminal event whose response is a string',
      event({ type: 'response.completed', response: 'resp_1' }),
    ],
    [
      'a name that is not the type',
      'event: response.completed\ndata: {"type":"response.created","response":{"status":"in_progress"}}\n\n',
    ],
    [
      'a type that is not the name',
      'event: response.created\ndata: {"type":"response.completed","response":{"status":"completed"}}\n\n',
    ],
    ['an error only by type', 'event: response.created\ndata: {"type":"error","message":"m"}\n\n'],
  ])('%s', (_, block) => {
    const [, ending] = endOf([created, block, completed, upstreamDone]);
    expect(ending).toMatchObject(failure(contradiction));
    expect(wireOf(eventsOf([created, block, completed]))).toBe(created);
  });

  it.each([['complete'], ['done'], [''], [undefined]])(
    'a terminal event with an unknown status is accepted: %s',
    (status) => {
      const block = event({ type: 'response.completed', response: response(status) });
      expect(endOf([created, block])).toEqual([created + block, done]);
    },
  );

  it.each([
    ['a response with a null error', { ...response('completed'), error: null }],
    ['a response with an empty error', { ...response('completed'), error: {} }],
    ['a response without output', { id: 'resp_1' }],
    ['an empty response', {}],
  ])('a terminal event is accepted with %s', (_, inside) => {
    const block = event({ type: 'response.completed', response: inside });
    expect(endOf([block])).toEqual([block, done]);
  });

  it('the usage of a contradictory event is kept for accounting', () => {
    const block = event({ type: 'response.completed', response: response('failed', { usage }) });
    expect(endOf([block])[1]).toEqual({
      ...failure(contradiction),
      chunk: expect.objectContaining({ response: expect.objectContaining({ usage }) }),
    });
  });
});

describe('chat chunks in a responses stream are a failure', () => {
  it.each([
    ['a chunk', 'data: {"id":"c1","object":"chat.completion.chunk","choices":[{"index":0}]}\n\n'],
    ['a chunk without an object', 'data: {"id":"c1","choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n'],
    ['a usage chunk', 'data: {"object":"chat.completion.chunk","choices":[],"usage":{}}\n\n'],
    ['a chunk with an event name', 'event: response.output_text.delta\ndata: {"choices":[{"index":0}]}\n\n'],
    ['a chunk with a type', 'data: {"type":"x","object":"chat.completion.chunk"}\n\n'],
    ['a whole completion', 'data: {"object":"chat.completion","choices":[]}\n\n'],
  ])('%s', (_, block) => {
    expect(endOf([block, completed, upstreamDone])[1]).toMatchObject(failure(chatInstead));
    expect(wireOf(eventsOf([created, block, completed]))).toBe(created);
  });
});

describe('the end of the stream', () => {
  it.each<[string, readonly string[], Ending | undefined, ResponsesEvent]>([
    ['EOF after the terminal event', [created, completed], undefined, done],
    ['a reset after the terminal event', [created, completed], reset, done],
    ['a reset before the terminal event', [created, delta], reset, broken],
    [
      'a timeout before the terminal event',
      [created],
      { kind: 'fault', reason: 'The upstream went silent for too long.', status: 504 },
      failure('The upstream went silent for too long.', 504),
    ],
  ])('%s', (_, blocks, ending, last) => {
    expect(endOf(blocks, ending)).toEqual([blocks.join(''), last]);
  });

  it.each([['data: {"type":"respon'], [completed.slice(0, -1)], [errorEvent.slice(0, -1)], [': comm']])(
    'an incomplete last frame is ignored: %j',
    (cut) => {
      for (const ending of [{ kind: 'eof' } as const, reset]) {
        expect(endOf([created, completed, cut], ending)).toEqual([created + completed, done]);
        expect(endOf([created, cut], ending)).toEqual([created, ending === reset ? broken : cutShort]);
      }
    },
  );

  it.each<[string, Ending, ResponsesEvent]>([
    ['EOF', { kind: 'eof' }, cutShort],
    ['a reset', reset, broken],
  ])(
    '%s at every byte gives exactly one failure unless the terminal event was complete',
    (_, ending, failed) => {
      const stream = Buffer.from(
        `: hi\n\n${created}${delta.replace('Hello', 'Grüße 😀')}${completed}${upstreamDone}`,
      );
      const completeAt = stream.indexOf(upstreamDone);
      for (let size = 0; size <= stream.length; size += 1) {
        const events = outputsOf(machine, [stream.subarray(0, size)], ending);
        expect(events.filter(({ kind }) => kind !== 'chunk')).toEqual([size < completeAt ? failed : done]);
      }
    },
  );
});

type Phase = 'open' | 'finished' | 'failing';

/** The end of a stream that stops in this phase. */
const ends = { open: 'failed', finished: 'done', failing: 'told' } as const satisfies Record<Phase, string>;

/** The end that an item of this kind causes; undefined if the stream continues. */
function endBy(means: ResponsesItem['means'], phase: Phase): string | undefined {
  if (means === 'done') return ends[phase];
  if (means === 'malformed') return phase === 'failing' ? 'told' : 'failed';
  return phase !== 'failing' && (means === 'mismatch' || means === 'error') ? 'failed' : undefined;
}

/** A second implementation of the rules: the frames that are forwarded of such items, and the end. */
function expected({ items, wires }: ResponsesScript): {
  readonly sent: readonly Buffer[];
  readonly end: string;
} {
  const sent: Buffer[] = [];
  let phase: Phase = 'open';
  for (const [index, { means }] of items.entries()) {
    const end = endBy(means, phase);
    if (end !== undefined) return { sent, end };
    const leaves = phase === 'failing' ? ['failure', 'error'] : ['event', 'terminal', 'failure'];
    if (leaves.includes(means)) sent.push(wires[index]!);
    if (means === 'failure') phase = 'failing';
    if (means === 'terminal' && phase === 'open') phase = 'finished';
  }
  return { sent, end: ends[phase] };
}

describe('any sequence of events, split anywhere', () => {
  const cutScripts = aResponsesScript.chain((script) =>
    fc.tuple(fc.constant(script), chunkingsOf(script.bytes)),
  );
  const endWord = (last: ResponsesEvent | undefined): string | undefined =>
    last?.kind === 'failed' && last.alreadyShown === true ? 'told' : last?.kind;

  it('is forwarded with the bytes of its events, and has one end', () => {
    fc.assert(
      fc.property(cutScripts, ([script, pieces]) => {
        const outputs = outputsOf(machine, pieces);
        const chunks = outputs.slice(0, -1) as readonly Chunk[];
        const { sent, end } = expected(script);
        expect(chunks.map(({ kind }) => kind)).toEqual(sent.map(() => 'chunk'));
        for (const [index, { wire, failing }] of chunks.entries()) {
          // Only events with redacted text are written anew.
          if (wire === undefined) expect([failing, sent[index]!.includes('hunter2')]).toEqual([true, true]);
          else expect(Buffer.from(wire).equals(sent[index]!)).toBe(true);
        }
        expect(endWord(outputs.at(-1))).toBe(end);
      }),
      { numRuns: 1000 },
    );
  });

  it('ends with `done` only after a valid terminal event, and never after a failure', () => {
    fc.assert(
      fc.property(cutScripts, ([{ items }, pieces]) => {
        const outputs = outputsOf(machine, pieces);
        const kinds = outputs.map(({ kind }) => kind);
        if (kinds.at(-1) !== 'done') return !kinds.includes('done');
        const chunks = outputs.slice(0, -1) as readonly Chunk[];
        return (
          items.some(({ means }) => means === 'terminal') &&
          chunks.some(({ terminal }) => terminal) &&
          chunks.every(({ failing }) => failing !== true)
        );
      }),
      { numRuns: 500 },
    );
  });
});
