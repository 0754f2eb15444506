import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { ChatEvent } from '../../../domain/chat/chat-stream.ts';
import type { UpstreamLabels } from '../../../domain/shared/gateway-error.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import { streamFailure } from '../../../domain/upstream/upstream-fault.ts';
import { anObjectText, aStreamedAnswer } from '../../support/arbitraries/messages.ts';
import { outputsOf } from '../../support/machine-laws.ts';
import { emptyInChat, failedFinishes, malformedInChat } from '../../support/malformed-pieces.ts';
import { grammarFault } from '../../support/messages-grammar.ts';
import {
  called,
  chunkEvent,
  done,
  eventsOf,
  failure,
  finishes,
  machine,
  piece,
  said,
  says,
  toldOf,
} from './messages-stream-told.ts';

describe('a failed messages stream', () => {
  it('forwards the failure, and sends nothing after it', () => {
    const failed = failure('gone', 504);
    const events = eventsOf([
      says({ content: 'a' }),
      { ...failed, chunk: { error: {} }, alreadyShown: true },
      says({ content: 'b' }),
      done,
    ]);
    expect(events.at(-1)).toEqual(failed);
    expect(toldOf(events).map(({ type }) => type)).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'error',
    ]);
  });

  it('keeps the upstream’s code and param, but not its type, which the messages API does not have', () => {
    const named = (labels: UpstreamLabels) => streamFailure('gone', 502, labels);
    const error = named({ code: 'c', param: 'p', messagesType: 'bad_request_error' });
    expect(eventsOf([{ kind: 'failed', error }])).toEqual([
      { kind: 'failed', error: named({ code: 'c', param: 'p' }) },
    ]);
  });

  it('contains only the failure if nothing came before it', () => {
    expect(eventsOf([failure('gone')])).toEqual([failure('gone')]);
  });

  it.each([
    [
      'by itself',
      { kind: 'eof' } as const,
      'The upstream ended its stream before the answer was complete.',
      502,
    ],
    [
      'by a fault',
      { kind: 'fault', reason: 'The upstream went silent.', status: 504 } as const,
      'The upstream went silent.',
      504,
    ],
  ])(
    'ends with a failure if the upstream stream ends %s before the answer is complete',
    (_, ending, message, status) => {
      expect(outputsOf(machine, [says({ content: 'a' })], ending).at(-1)).toEqual(failure(message, status));
    },
  );

  const malformed = failure('The upstream sent a malformed event.');

  it.each(malformedInChat)('fails on a malformed delta, which would otherwise be lost: %s', (_, delta) => {
    for (const before of [[], [says({ content: 'a' })]]) {
      const events = eventsOf([...before, says(delta), finishes('stop'), done]);
      expect(events.at(-1)).toEqual(malformed);
      expect(grammarFault(toldOf(events))).toBeUndefined();
    }
  });

  it.each<[string, JsonObject]>([
    ['choices that are not a list', { choices: 'x' }],
    ['a choice that is not an object', { choices: ['x'] }],
    ['a message that is not an object', { choices: [{ index: 0, message: 'x' }] }],
    ['malformed content in a whole message', { choices: [{ index: 0, message: { content: true } }] }],
    ['a delta that is not an object', { choices: [{ index: 0, delta: 'x' }] }],
  ])('fails on %s', (_, chunk) => {
    expect(eventsOf([chunkEvent(chunk), finishes('stop'), done])).toEqual([malformed]);
  });

  it.each(emptyInChat)('ignores an empty delta: %s', (_, delta) => {
    expect(eventsOf([says({ content: 'a' }), says(delta), done])).toEqual(
      eventsOf([says({ content: 'a' }), done]),
    );
  });

  it.each(failedFinishes)('fails at the end of the stream if the finish_reason says so: %s', (reason) => {
    const call = called(piece(0, '{}', { id: 'a' }, 'f'));
    const events = eventsOf([
      says({ content: 'a' }),
      call,
      finishes(reason),
      chunkEvent({ choices: [] }),
      done,
    ]);
    expect(events.at(-1)).toEqual(failure(`The upstream did not finish its answer (${reason}).`));
    expect(toldOf(events).some(({ type }) => type === 'message_delta')).toBe(false);
    expect(grammarFault(toldOf(events))).toBeUndefined();
  });

  it.each<[string, readonly JsonObject[]]>([
    ['images', [{ content: '' }, { images: [{ type: 'image_url' }] }]],
    ['audio', [{ audio: { id: 'a' } }, { audio: { data: 'AA==' } }]],
    ['content', [{ reasoning: 'A cat it is.' }, { content: [{ type: 'image_url' }] }]],
    ['provider_metadata', [{ content: '' }, { provider_metadata: { a: { parts: [{ inlineData: {} }] } } }]],
  ])('fails on an answer that has %s but no text, and names that field', (field, deltas) => {
    const events = eventsOf([...deltas.map(says), finishes('stop'), done]);
    expect(events.at(-1)).toEqual(
      failure(`The upstream's answer has no words, and its \`${field}\` cannot be told in a message.`),
    );
    expect(grammarFault(toldOf(events))).toBeUndefined();
  });

  it('does not fail on an answer that has images and a tool call', () => {
    const call = called(piece(0, '{}', { id: 'a' }, 'f'));
    const inputs = [says({ images: [{ type: 'image_url' }] }), call, finishes('tool_calls'), done];
    expect(eventsOf(inputs).at(-1)).toEqual(done);
  });

  it.each<[string, readonly ChatEvent[]]>([
    ['nothing before [DONE]', []],
    ['only usage', [chunkEvent({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 0 } })]],
    ['no choices', [chunkEvent({ id: 'c1' }), chunkEvent({ choices: null })]],
  ])('fails if the stream has no message: %s', (_, inputs) => {
    const events = eventsOf([...inputs, done]);
    expect(events.at(-1)).toEqual(failure('The upstream answered without a message.'));
    expect(toldOf(events).some(({ type }) => type === 'message_delta')).toBe(false);
    expect(grammarFault(toldOf(events))).toBeUndefined();
  });

  it('never contains message_delta or message_stop, and ends with an error, whatever came before', () => {
    fc.assert(
      fc.property(aStreamedAnswer, fc.nat(), ({ chunks }, at) => {
        const inputs = [...chunks.map(chunkEvent), done];
        const events = toldOf(eventsOf(inputs.toSpliced(at % inputs.length, 0, failure('gone'))));
        expect(events.at(-1)?.['type']).toBe('error');
        expect(events.some(({ type }) => type === 'message_stop' || type === 'message_delta')).toBe(false);
        expect(grammarFault(events)).toBeUndefined();
      }),
    );
  });

  const f = { id: 'a' };

  it.each<[string, readonly ChatEvent[]]>([
    [
      'after another call has begun',
      [called(piece(0, '{}', f, 'f')), called(piece(1, '{', { id: 'b' }, 'g')), called(piece(0, '{"a":1}'))],
    ],
    ['the last call', [called(piece(0, '{"a":1}', f, 'f')), called(piece(0, '{"a":2}'))]],
    [
      'an empty object in pieces',
      [called(piece(0, '{', f, 'f')), called(piece(0, '}')), called(piece(0, '{'))],
    ],
    ['an empty object', [called(piece(0, '{}', f, 'f')), called(piece(0, ','))]],
    ['within a single piece', [called(piece(0, '{"a":1}\n{"b":2}', f, 'f'))]],
    ['a call without a name', [called(piece(0, '{"a":1}', f)), called(piece(0, ','))]],
  ])('fails if a call continues after its arguments were complete: %s', (_, inputs) => {
    const events = eventsOf([...inputs, called(piece(1, '}')), finishes('tool_calls'), done]);
    expect(events.at(-1)).toEqual(failure('The upstream went on with a tool call that was complete.'));
    expect(grammarFault(toldOf(events))).toBeUndefined();
  });
});

describe('a streamed call whose arguments break off', () => {
  const f = { id: 'a' };
  const cut = '{"path":"/srv","only_older_than_days":30,"pattern":"*.tm';

  it.each([['tool_calls'], ['function_call'], ['stop'], ['eos'], ['length']])(
    'ends the answer with max_tokens, also if the finish_reason is %s',
    (reason) => {
      const call = called(piece(0, cut, f, 'delete_files'));
      for (const behind of [[], [called(piece(1, '{}', { id: 'b' }, 'g'))], [says({ content: 'a' })]])
        expect(said(call, ...behind, finishes(reason)).stop).toBe('max_tokens');
      expect(said(called(piece(1, '{}', { id: 'b' }, 'g')), call, finishes(reason)).stop).toBe('max_tokens');
    },
  );

  it('ends the answer with refusal if the finish_reason is content_filter', () => {
    expect(said(called(piece(0, cut, f, 'f')), finishes('content_filter')).stop).toBe('refusal');
  });

  it('is distinguished from a complete call, wherever it breaks off and however it is split', () => {
    fc.assert(
      fc.property(anObjectText, fc.nat(), fc.nat(), (text, at, cutAt) => {
        const kept = text.slice(0, 1 + (at % text.length));
        const half = cutAt % (kept.length + 1);
        const pieces = [kept.slice(0, half), kept.slice(half)].map((each) => called(piece(0, each)));
        const { stop } = said(called(piece(0, '', f, 'f')), ...pieces, finishes('tool_calls'));
        expect(stop).toBe(kept === text ? 'tool_use' : 'max_tokens');
      }),
    );
  });
});
