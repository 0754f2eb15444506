import { describe, expect, it } from '@jest/globals';
import { maxJsonDepth, maxTranslatedToolCalls } from '../../domain/shared/limits.ts';
import { andThen, type Ending } from '../../domain/shared/stream-machine.ts';
import { reportingSseFrames } from '../../infrastructure/providers/wire/sse.ts';
import { malformedEvents } from '../support/malformed-pieces.ts';
import { outputsOf } from '../support/machine-laws.ts';
import {
  close,
  delta,
  event,
  eventsOf,
  failure,
  hello,
  messagesMachine,
  open,
  sanitise,
  start,
  stop,
  stopped,
} from './messages-body-stream-told.ts';

describe('failures of a messages stream', () => {
  const errorEvent = event({
    type: 'error',
    error: { type: 'overloaded_error', message: 'Overloaded hunter2' },
  });
  const deep = `data: {"type":"x","y":${'['.repeat(maxJsonDepth)}${']'.repeat(maxJsonDepth)}}\n\n`;

  it.each<[string, string, string]>([
    ['an `error` event', start + hello + errorEvent, 'Overloaded [REDACTED]'],
    [
      'an `error` event after the stop reason',
      start + hello + stopped('end_turn') + errorEvent,
      'Overloaded [REDACTED]',
    ],
    ['a top-level `error`', 'data: {"error":"quota"}\n\n', 'quota'],
    ['an error without a message', 'event: error\ndata: {}\n\n', 'The upstream reported an error.'],
    [
      'an event named `error` with another type',
      `${start}event: error\ndata: {"type":"message_stop"}\n\n`,
      'The upstream reported an error.',
    ],
    ['invalid JSON', `${start}data: {"type":\n\n`, 'The upstream sent a malformed event.'],
    ['an array', `${start}data: [1]\n\n`, 'The upstream sent a malformed event.'],
    [
      'an event whose name and type differ',
      `${start}event: message_stop\ndata: {"type":"ping"}\n\n`,
      'The upstream sent an event that contradicts itself.',
    ],
    ['deep nesting', start + deep, 'The upstream sent an event that is nested too deeply.'],
    ['an empty stream', '', 'The upstream ended its stream before the answer was complete.'],
    [
      'an end before the stop reason',
      start + hello,
      'The upstream ended its stream before the answer was complete.',
    ],
    [
      '[DONE] before the stop reason',
      `${start}data: [DONE]\n\n`,
      'The upstream ended its stream before the answer was complete.',
    ],
    [
      'an empty stop reason and the end',
      start + hello + stopped(''),
      'The upstream ended its stream before the answer was complete.',
    ],
    [
      'a null stop reason and the end',
      start + hello + stopped(null),
      'The upstream ended its stream before the answer was complete.',
    ],
  ])('%s is reported as one failure at the end', (_, text, message) => {
    const events = eventsOf(text);
    expect(events.at(-1)).toMatchObject(failure(message));
    expect(events.filter(({ kind }) => kind !== 'chunk')).toHaveLength(1);
  });

  it.each(malformedEvents)('an invalid event whose content would be lost is malformed: %s', (_, piece) => {
    const events = eventsOf(start + hello + event(piece) + stopped('end_turn') + stop);
    expect(events.slice(0, -1)).toEqual(eventsOf(start + hello).slice(0, -1));
    expect(events.at(-1)).toMatchObject(failure('The upstream sent a malformed event.'));
  });

  it.each([
    ['no block', ''],
    ['a block of text', open(1, { type: 'text', text: '' })],
    ['a call that has ended', open(1, { type: 'tool_use', id: 'a', name: 'f', input: {} }) + close(1)],
  ])('arguments after %s are a malformed event, and blank ones are ignored', (_case, before) => {
    const piece = (partial_json: string | null) => delta(1, { type: 'input_json_delta', partial_json });
    const after = stopped('tool_use') + stop;
    expect(eventsOf(start + before + piece('{"a":') + after).at(-1)).toMatchObject(
      failure('The upstream sent a malformed event.'),
    );
    for (const nothing of ['', ' \n', null])
      expect(eventsOf(start + before + piece(nothing) + after)).toEqual(eventsOf(start + before + after));
  });

  it('another message before the end of the first is a failure, because a partial call would look complete', () => {
    const begin = (id?: string) => event({ type: 'message_start', message: { id, content: [] } });
    const half = open(0, { type: 'tool_use', id: 'a', name: 'f', input: {} });
    const argued = delta(0, { type: 'input_json_delta', partial_json: '{"x":' });
    const other = begin('msg_2') + hello + stopped('end_turn') + stop;
    expect(eventsOf(begin('msg_1') + half + argued + other).at(-1)).toMatchObject(
      failure('The upstream began another message before it had ended the first one.'),
    );
    for (const again of [begin('msg_1'), begin('')])
      expect(eventsOf(begin('msg_1') + again + hello + stopped('end_turn') + stop)).toEqual(
        eventsOf(begin('msg_1') + hello + stopped('end_turn') + stop),
      );
  });

  it('an error outside of the events is a failure, also after the stop reason', () => {
    const beside = '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}';
    const told = andThen(reportingSseFrames(sanitise), messagesMachine);
    for (const before of [start + hello, start + hello + stopped('end_turn')])
      for (const after of ['', `\n\n${stop}`])
        expect(outputsOf(told, [Buffer.from(before + beside + after)]).at(-1)).toMatchObject(
          failure('Overloaded'),
        );
  });

  it('a broken connection fails with its reason, unless the answer was complete', () => {
    const reset: Ending = { kind: 'fault', reason: 'The connection broke.', status: 504 };
    expect(eventsOf(start + hello, reset).at(-1)).toMatchObject(failure('The connection broke.', 504));
    const complete = eventsOf(start + hello + stopped('end_turn'), reset);
    expect(complete.at(-1)).toEqual({ kind: 'done' });
    expect(complete.at(-2)).toMatchObject({ chunk: { usage: { total_tokens: 12 } } });
  });

  it('an event is read by its name if its payload has no type, and one without data is ignored', () => {
    const untyped = (text: string) => text.replaceAll(/"type":"(?:message|content_block)_[a-z]+",?/g, '');
    const all = start + hello + stopped('end_turn') + stop;
    expect(untyped(all)).not.toContain('"type":"message');
    expect(eventsOf(`event: ping\ndata:\n\n${untyped(all)}`)).toEqual(eventsOf(all));
  });

  it('events after a [DONE] are ignored', () => {
    const complete = start + hello + stopped('end_turn');
    expect(eventsOf(`${complete}data: [DONE]\n\n${errorEvent}`)).toEqual(eventsOf(complete));
  });

  it('too many tool calls or open content blocks are a failure', () => {
    const many = (block: object): string =>
      Array.from({ length: maxTranslatedToolCalls + 1 }, (_, index) => open(index, block)).join('');
    expect(eventsOf(start + many({ type: 'tool_use', id: 'a', name: 'f' })).at(-1)).toMatchObject(
      failure('The upstream sent too many tool calls in one answer.'),
    );
    expect(eventsOf(start + many({ type: 'compaction' })).at(-1)).toMatchObject(
      failure('The upstream sent too many content blocks at once.'),
    );
    const content = Array.from({ length: maxTranslatedToolCalls + 2 }, () => ({ type: 'tool_use', id: 'a' }));
    const whole = eventsOf(event({ type: 'message_start', message: { content } }));
    expect(whole.at(-1)).toMatchObject(failure('The upstream sent too many tool calls in one answer.'));
    expect(whole.filter(({ kind }) => kind !== 'chunk')).toHaveLength(1);
  });
});
