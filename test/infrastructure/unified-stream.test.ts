import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { JsonObject } from '../../domain/shared/json.ts';
import { frame, textHeader } from '../support/event-stream-frames.ts';
import { describeMachineLaws } from '../support/machine-laws.ts';
import {
  anEvent,
  type Chunk,
  delta,
  eventsOf,
  input,
  machine,
  metadata,
  role,
  start,
  started,
  stop,
  stopped,
  summed,
  text,
  told,
  tool,
} from './unified-stream-told.ts';

describeMachineLaws('unifiedStream', {
  machine,
  streams: fc
    .tuple(fc.array(anEvent, { maxLength: 8 }), fc.nat(20))
    .map(([events, cut]) => Buffer.concat([started, ...events]).subarray(0, cut === 0 ? -1 : undefined)),
  isTerminal: ({ kind }) => kind !== 'chunk',
  endless: {
    piece: Buffer.alloc(1024, 0xff),
    pushes: 100,
    outputs: [{ kind: 'failed', error: expect.anything() as never }],
  },
});

describe('a converse stream as a chat stream', () => {
  it('has role, text, finish reason and usage, and is done at the end of the stream', () => {
    expect(told([started, text('Hel'), text('lo'), stopped(0), stop(), metadata()])).toEqual([
      role,
      { content: 'Hel' },
      { content: 'lo' },
      { finish: 'stop' },
      summed,
      'done',
    ]);
  });

  it('has chunks with the requested model, the id and time of the gateway, and no padding', () => {
    expect(eventsOf([started, text('a'), stop(), metadata()])).toEqual([
      chunkOf(role, null),
      chunkOf({ content: 'a' }, null),
      chunkOf({}, 'stop'),
      {
        kind: 'chunk',
        chunk: { ...head, choices: [], ...summed },
        wire: undefined,
        terminal: false,
      },
      { kind: 'done' },
    ]);
  });

  const head = {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1_700_000_000,
    model: 'asked-for',
  };
  const chunkOf = (delta: JsonObject, reason: string | null) => ({
    kind: 'chunk',
    chunk: { ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }] },
    wire: undefined,
    terminal: reason !== null,
  });

  it('is not done at the stop, because metadata follow it', () => {
    const run = machine.begin();
    expect(run.push(Buffer.concat([started, stop()])).map(({ kind }) => kind)).toEqual(['chunk', 'chunk']);
    expect(run.push(metadata())).toMatchObject([{ kind: 'chunk', chunk: summed }]);
    expect(run.end({ kind: 'eof' })).toEqual([{ kind: 'done' }]);
  });

  it('accepts usage before the stop, and no usage', () => {
    expect(told([started, metadata(), stop()])).toEqual([role, summed, { finish: 'stop' }, 'done']);
    expect(told([started, stop(), metadata({ usage: null })])).toEqual([role, { finish: 'stop' }, 'done']);
    expect(told([started, stop()])).toEqual([role, { finish: 'stop' }, 'done']);
  });

  it('has the role first and once, also where the upstream omits or repeats it', () => {
    expect(told([text('a'), stop()])).toEqual([role, { content: 'a' }, { finish: 'stop' }, 'done']);
    expect(told([stop()])).toEqual([role, { finish: 'stop' }, 'done']);
    expect(told([started, started, stop()])).toEqual([role, { finish: 'stop' }, 'done']);
  });

  it('has no chunk for empty text', () => {
    expect(told([started, text(''), text('a'), text(''), stop()])).toEqual([
      role,
      { content: 'a' },
      { finish: 'stop' },
      'done',
    ]);
  });

  const own = (members: JsonObject) => ({ provider_metadata: { cloud_b_platform: members } });
  const called = (index: number, id: string, name: string) => ({
    tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }],
  });
  const argued = (index: number, words: string) => ({
    tool_calls: [{ index, function: { arguments: words } }],
  });

  it('counts tool indexes from 0, among tools only', () => {
    expect(
      told([
        started,
        text('Well.'),
        stopped(0),
        tool(1, 'a', 'f'),
        input(1, '{"x":'),
        input(1, '1}'),
        stopped(1),
        text('And', 2),
        tool(3, 'b', 'g'),
        input(3, ''),
        input(3, '{}'),
        stopped(3),
        stop('tool_use'),
      ]),
    ).toEqual([
      role,
      { content: 'Well.' },
      called(0, 'a', 'f'),
      argued(0, '{"x":'),
      argued(0, '1}'),
      { content: 'And' },
      called(1, 'b', 'g'),
      argued(1, '{}'),
      { finish: 'tool_calls' },
      'done',
    ]);
  });

  it('keeps interleaved arguments with their tools', () => {
    expect(
      told([
        started,
        tool(0, 'a', 'f'),
        tool(1, 'b', 'g'),
        input(1, '{"y'),
        input(0, '{"x'),
        stop('tool_use'),
      ]),
    ).toEqual([
      role,
      called(0, 'a', 'f'),
      called(1, 'b', 'g'),
      argued(1, '{"y'),
      argued(0, '{"x'),
      { finish: 'tool_calls' },
      'done',
    ]);
  });

  it('has `{}` as the arguments of tools without arguments, also where their block is never stopped', () => {
    expect(
      told([started, tool(0, 'a', 'f'), input(0, ''), stopped(0), tool(1, 'b', 'g'), stop('tool_use')]),
    ).toEqual([
      role,
      called(0, 'a', 'f'),
      argued(0, '{}'),
      called(1, 'b', 'g'),
      argued(1, '{}'),
      { finish: 'tool_calls' },
      'done',
    ]);
  });

  it('ignores empty arguments, also where no tool is open', () => {
    const empty = input(0, '');
    expect(
      told([
        started,
        empty,
        tool(0, 'a', 'f'),
        input(0, '{}'),
        stopped(0),
        empty,
        stop('tool_use'),
        empty,
        text(''),
      ]),
    ).toEqual([role, called(0, 'a', 'f'), argued(0, '{}'), { finish: 'tool_calls' }, 'done']);
  });

  it('finishes with `tool_calls` where there are tool calls, also for `end_turn`', () => {
    expect(told([started, tool(0, 'a', 'f'), stopped(0), stop('end_turn')])).toContainEqual({
      finish: 'tool_calls',
    });
  });

  it('keeps calls that the platform runs itself in the metadata, and not as tool calls', () => {
    expect(
      told([
        started,
        tool(0, 'a', 'interpreter', 'server_tool_use'),
        input(0, '{}'),
        stopped(0),
        start(1, { toolResult: { toolUseId: 'a' } }),
        delta(1, { toolResult: [{ json: {} }] }),
        stopped(1),
        tool(2, 'b', 'f', 'tool_use'),
        stopped(2),
        stop('tool_use'),
      ]),
    ).toEqual([
      role,
      own({
        blocks: [
          { index: 0, start: { toolUse: { toolUseId: 'a', name: 'interpreter', type: 'server_tool_use' } } },
        ],
      }),
      own({ blocks: [{ index: 0, delta: { toolUse: { input: '{}' } } }] }),
      own({ blocks: [{ index: 1, start: { toolResult: { toolUseId: 'a' } } }] }),
      own({ blocks: [{ index: 1, delta: { toolResult: [{ json: {} }] } }] }),
      called(0, 'b', 'f'),
      argued(0, '{}'),
      { finish: 'tool_calls' },
      'done',
    ]);
  });

  it('has reasoning in the metadata of deltas, and never in the content', () => {
    expect(
      told([
        started,
        delta(0, { reasoningContent: { text: 'Hm' } }),
        delta(0, { reasoningContent: { signature: 's' } }),
        delta(1, { reasoningContent: { redactedContent: 'AAAA' } }),
        delta(1, { reasoningContent: {} }),
        text('Yes.', 2),
        stop(),
      ]),
    ).toEqual([
      role,
      own({ reasoning: [{ index: 0, type: 'thinking', thinking: 'Hm' }] }),
      own({ reasoning: [{ index: 0, type: 'thinking', signature: 's' }] }),
      own({ reasoning: [{ index: 1, type: 'redacted_thinking', data: 'AAAA' }] }),
      { content: 'Yes.' },
      { finish: 'stop' },
      'done',
    ]);
  });

  it('has citations in the metadata of deltas', () => {
    const citation = { title: 'a' };
    expect(told([started, delta(0, { citation }), stop()])).toContainEqual({
      provider_metadata: { cloud_b_platform: { citations: [citation] } },
    });
  });

  it('has additional response fields with the finish reason, and trace and performance settings with the usage', () => {
    const events = eventsOf([
      started,
      stop('stop_sequence', { additionalModelResponseFields: { a: 1 } }),
      metadata({ trace: { b: 2 }, performanceConfig: { latency: 'standard' } }),
    ]);
    const own = events.flatMap((event) =>
      event.kind === 'chunk' ? [(event.chunk as unknown as Chunk).provider_metadata] : [],
    );
    expect(own).toEqual([
      undefined,
      { cloud_b_platform: { additionalModelResponseFields: { a: 1 }, stop_reason: 'stop_sequence' } },
      { cloud_b_platform: { trace: { b: 2 }, performanceConfig: { latency: 'standard' } } },
    ]);
  });

  it('has the service tier with the usage', () => {
    const events = eventsOf([started, stop(), metadata({ serviceTier: { type: 'priority' } })]);
    expect(events.flatMap((event) => (event.kind === 'chunk' ? [event.chunk['service_tier']] : []))).toEqual([
      undefined,
      undefined,
      'priority',
    ]);
  });

  it('keeps every digit of additional response fields', () => {
    const exact = frame(
      [textHeader(':message-type', 'event'), textHeader(':event-type', 'messageStop')],
      Buffer.from('{"stopReason":"end_turn","additionalModelResponseFields":{"n":9007199254740993}}'),
    );
    expect(JSON.stringify(eventsOf([started, exact]))).toContain('{"n":9007199254740993}');
  });

  it('ignores unknown events, whatever they hold', () => {
    const unknown = frame(
      [textHeader(':message-type', 'event'), textHeader(':event-type', 'unheardOf')],
      Buffer.from('no JSON'),
    );
    expect(told([unknown, started, unknown, stop(), unknown])).toEqual([role, { finish: 'stop' }, 'done']);
  });

  it('keeps blocks for which chat has no field unchanged in the metadata', () => {
    expect(
      told([started, start(1, { image: {} }), delta(1, { hologram: {} }), delta(1, {}), stop()]),
    ).toEqual([
      role,
      own({ blocks: [{ index: 1, start: { image: {} } }] }),
      own({ blocks: [{ index: 1, delta: { hologram: {} } }] }),
      { finish: 'stop' },
      'done',
    ]);
    for (const reasoningContent of [{ text: 'hm' }, 'hm'])
      expect(told([started, start(1, { reasoningContent }), stop()])[1]).toEqual(
        own({ blocks: [{ index: 1, start: { reasoningContent } }] }),
      );
  });

  it.each([[{}], [{ reasoningContent: {} }], [{ reasoningContent: null }]])(
    'takes the kind of a block from its deltas where it starts empty: %j',
    (block) => {
      const frames = [
        text('a'),
        delta(1, { reasoningContent: { text: 'hm' } }),
        stopped(0),
        stop('max_tokens'),
      ];
      expect(told([started, start(0, block), start(1, block), ...frames])).toEqual(
        told([started, ...frames]),
      );
    },
  );

  it('ignores block stops and stops after the stop', () => {
    expect(told([started, stop(), stopped(0), stop('max_tokens')])).toEqual([
      role,
      { finish: 'stop' },
      'done',
    ]);
  });
});
