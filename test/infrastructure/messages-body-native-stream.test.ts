import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { MessagesEvent } from '../../domain/messages/block-writer.ts';
import { MessagesObserver } from '../../domain/messages/observe-messages.ts';
import { maxStreamEventBytes } from '../../domain/shared/limits.ts';
import { andThen, seal } from '../../domain/shared/stream-machine.ts';
import { nativeMessagesStream } from '../../infrastructure/providers/messages-body/native-stream.ts';
import { sseFrames } from '../../infrastructure/providers/wire/sse.ts';
import { messagesFormat } from '../../interfaces/http/public/wire-format.ts';
import { chunkingsOf } from '../support/arbitraries/bytes.ts';
import { aMessage, messagesStreams } from '../support/arbitraries/messages-body-streams.ts';
import { describeMachineLaws, outputsOf } from '../support/machine-laws.ts';

const sanitise = (message: string): string => message.replaceAll('hunter2', '[REDACTED]');
const machine = andThen(sseFrames, seal(nativeMessagesStream(sanitise)));

const failure = (message: string, messagesType = '') => ({
  kind: 'failed',
  error: {
    code: 'upstream_error',
    message,
    upstream: { status: 502, ...(messagesType === '' ? {} : { labels: { messagesType } }) },
  },
});

describeMachineLaws('sseFrames, then nativeMessagesStream', {
  machine,
  streams: messagesStreams,
  isTerminal: ({ kind }) => kind !== 'chunk',
  endless: {
    piece: Buffer.alloc(1024 * 1024, 'data: {"type":'),
    pushes: 2 * (maxStreamEventBytes / (1024 * 1024)),
    outputs: [failure('The upstream sent an event that is too large.') as MessagesEvent],
  },
});

/** What a caller receives of these events. */
const received = (events: readonly MessagesEvent[]): string => {
  const spell = messagesFormat.writer({ requestId: 'r1' } as never);
  return Buffer.concat(events.map((event) => Buffer.from(spell(event)))).toString();
};

const eventsOf = (text: string): readonly MessagesEvent[] => outputsOf(machine, [Buffer.from(text)]);

describe('a messages stream for callers of the Messages API', () => {
  it('is sent byte for byte, without `vertex_event`, for any chunking of the upstream', () => {
    fc.assert(
      fc.property(
        aMessage.chain((message) => fc.tuple(fc.constant(message), chunkingsOf(message.bytes))),
        ([{ events }, pieces]) => {
          const own = events.filter(({ type }) => type !== 'vertex_event');
          const out = outputsOf(machine, pieces);
          const wire = out.flatMap((each) =>
            each.kind === 'chunk' && each.wire !== undefined ? [each.wire] : [],
          );
          expect(Buffer.concat(wire).equals(Buffer.concat(own.map(({ bytes }) => bytes)))).toBe(true);
          expect(out.at(-1)).toEqual({ kind: 'done' });
        },
      ),
    );
  });

  it('only `message_stop` is held and terminal, and only `done` follows it', () => {
    fc.assert(
      fc.property(aMessage, ({ bytes }) => {
        const out = outputsOf(machine, [bytes, bytes]);
        const held = out.flatMap((each, at) => (each.kind === 'chunk' && each.held === true ? [at] : []));
        const terminal = out.flatMap((each, at) => (each.kind === 'chunk' && each.terminal ? [at] : []));
        expect(held).toEqual([out.length - 2]);
        expect(terminal).toEqual(held);
      }),
    );
  });

  it('an observer of it sees usage and tool calls, including hosted ones', () => {
    fc.assert(
      fc.property(aMessage, ({ bytes, usage: { prompt, completion }, calls, foreign }) => {
        const observer = new MessagesObserver();
        for (const each of outputsOf(machine, [bytes])) if (each.kind === 'chunk') observer.see(each.chunk);
        expect(observer.observed()).toEqual({
          usage: { promptTokens: prompt, completionTokens: completion, totalTokens: prompt + completion },
          usageUnusable: false,
          invokedToolCount: calls.length + foreign.filter((type) => type.endsWith('tool_use')).length,
        });
      }),
    );
  });

  it('an event without a name gets its type as the name, and keeps every digit', () => {
    const data = '{"type":"message_start","message":{"usage":{"input_tokens":9007199254740993}}}';
    const out = eventsOf(`data: ${data}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n`);
    expect(received(out)).toBe(
      `event: message_start\ndata: ${data}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n`,
    );
  });

  it.each(['event:', 'event: message'])('an event under `%s` gets its type as the name', (line) => {
    const out = eventsOf(`${line}\ndata: {"type":"message_stop"}\n\n`);
    expect(received(out)).toBe('event: message_stop\ndata: {"type":"message_stop"}\n\n');
  });

  const start = 'event: message_start\ndata: {"type":"message_start","message":{}}\n\n';

  it.each<[string, string, string, string?]>([
    [
      'an `error` event',
      'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded hunter2"}}\n\n',
      'Overloaded [REDACTED]',
      'overloaded_error',
    ],
    ['a malformed event', 'event: ping\ndata: {"type":\n\n', 'The upstream sent a malformed event.'],
    [
      'an event named `message_stop` with another type',
      'event: message_stop\ndata: {"type":"ping"}\n\n',
      'The upstream sent an event that contradicts itself.',
    ],
    [
      'an event of type `message_stop` with another name',
      'event: ping\ndata: {"type":"message_stop"}\n\n',
      'The upstream sent an event that contradicts itself.',
    ],
    [
      'an event whose type is a lone surrogate',
      'data: {"type":"\\ud800"}\n\n',
      'The upstream sent a malformed event.',
    ],
    ['an end before `message_stop`', '', 'The upstream ended its stream before the answer was complete.'],
    ['[DONE]', 'data: [DONE]\n\n', 'The upstream ended its stream before the answer was complete.'],
    [
      'a stop reason without `message_stop`',
      'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n',
      'The upstream ended its stream before the answer was complete.',
    ],
  ])(
    'fails with %s, as an `error` event without secrets, and without `message_stop`',
    (_, more, message, type = '') => {
      const out = eventsOf(start + more);
      expect(out.at(-1)).toEqual(failure(message, type));
      const text = received(out);
      expect(text).not.toContain('message_stop');
      expect(text).toContain('event: error\ndata: {"type":"error","error":{"type":"api_error","message":');
      expect(text).not.toContain('hunter2');
    },
  );

  it('a repeated `message_start` is sent once, because clients fail on a second one', () => {
    const begin = (id: string) =>
      `event: message_start\ndata: {"type":"message_start","message":{"id":"${id}"}}\n\n`;
    const stop = 'event: message_stop\ndata: {"type":"message_stop"}\n\n';
    for (const again of [begin('msg_1'), start])
      expect(received(eventsOf(begin('msg_1') + again + stop))).toBe(begin('msg_1') + stop);
    expect(received(eventsOf(start + start + stop))).toBe(start + stop);
  });

  it('another message that starts before the first has ended is a failure', () => {
    const begin = (id: string) => `data: {"type":"message_start","message":{"id":"${id}"}}\n\n`;
    const out = eventsOf(`${begin('msg_1')}${begin('msg_2')}data: {"type":"message_stop"}\n\n`);
    expect(out.at(-1)).toEqual(
      failure('The upstream began another message before it had ended the first one.'),
    );
    expect(received(out)).not.toContain('message_stop');
  });

  it('keeps the error type of the upstream', () => {
    const error = { type: 'rate_limit_error', message: 'Slow down.' };
    const out = eventsOf(`${start}event: error\ndata: ${JSON.stringify({ type: 'error', error })}\n\n`);
    expect(received(out)).toContain('data: {"type":"error","error":{"type":"rate_limit_error","message":');
  });
});
