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

describe('a failure never looks finished', () => {
  it('passes as it is, and nothing comes after it', () => {
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

  it('keeps what the upstream calls it, but for a type, which is none of the messages API', () => {
    const named = (labels: UpstreamLabels) => streamFailure('gone', 502, labels);
    const error = named({ code: 'c', param: 'p', messagesType: 'bad_request_error' });
    expect(eventsOf([{ kind: 'failed', error }])).toEqual([
      { kind: 'failed', error: named({ code: 'c', param: 'p' }) },
    ]);
  });

  it('may be all there is', () => {
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
  ])('a stream that ends %s without saying so is one', (_, ending, message, status) => {
    expect(outputsOf(machine, [says({ content: 'a' })], ending).at(-1)).toEqual(failure(message, status));
  });

  const malformed = failure('The upstream sent a malformed event.');

  it.each(malformedInChat)('a piece that would vanish is malformed: %s', (_, delta) => {
    for (const before of [[], [says({ content: 'a' })]]) {
      const events = eventsOf([...before, says(delta), finishes('stop'), done]);
      expect(events.at(-1)).toEqual(malformed);
      expect(grammarFault(toldOf(events))).toBeUndefined();
    }
  });

  it.each<[string, JsonObject]>([
    ['choices that are no list', { choices: 'x' }],
    ['a choice that is none', { choices: ['x'] }],
    ['a message that is none', { choices: [{ index: 0, message: 'x' }] }],
    ['a piece of a whole message', { choices: [{ index: 0, message: { content: true } }] }],
    ['a delta that is none', { choices: [{ index: 0, delta: 'x' }] }],
  ])('so are %s', (_, chunk) => {
    expect(eventsOf([chunkEvent(chunk), finishes('stop'), done])).toEqual([malformed]);
  });

  it.each(emptyInChat)('a piece that is empty is none: %s', (_, delta) => {
    expect(eventsOf([says({ content: 'a' }), says(delta), done])).toEqual(
      eventsOf([says({ content: 'a' }), done]),
    );
  });

  it.each(failedFinishes)(
    'a finish_reason that tells one is one, once the stream has ended: %s',
    (reason) => {
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
    },
  );

  it.each<[string, readonly JsonObject[]]>([
    ['images', [{ content: '' }, { images: [{ type: 'image_url' }] }]],
    ['audio', [{ audio: { id: 'a' } }, { audio: { data: 'AA==' } }]],
    ['content', [{ reasoning: 'A cat it is.' }, { content: [{ type: 'image_url' }] }]],
    ['provider_metadata', [{ content: '' }, { provider_metadata: { a: { parts: [{ inlineData: {} }] } } }]],
  ])('so is an answer in %s alone, which cannot be told', (field, deltas) => {
    const events = eventsOf([...deltas.map(says), finishes('stop'), done]);
    expect(events.at(-1)).toEqual(
      failure(`The upstream's answer has no words, and its \`${field}\` cannot be told in a message.`),
    );
    expect(grammarFault(toldOf(events))).toBeUndefined();
  });

  it('an answer in images that calls a tool is told by its call', () => {
    const call = called(piece(0, '{}', { id: 'a' }, 'f'));
    const inputs = [says({ images: [{ type: 'image_url' }] }), call, finishes('tool_calls'), done];
    expect(eventsOf(inputs).at(-1)).toEqual(done);
  });

  it.each<[string, readonly ChatEvent[]]>([
    ['nothing before [DONE]', []],
    ['usage alone', [chunkEvent({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 0 } })]],
    ['no choices', [chunkEvent({ id: 'c1' }), chunkEvent({ choices: null })]],
  ])('so is a stream without a message, as a whole answer is: %s', (_, inputs) => {
    const events = eventsOf([...inputs, done]);
    expect(events.at(-1)).toEqual(failure('The upstream answered without a message.'));
    expect(toldOf(events).some(({ type }) => type === 'message_delta')).toBe(false);
    expect(grammarFault(toldOf(events))).toBeUndefined();
  });

  it('never yields message_stop, whatever came before', () => {
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
      'behind it another one has begun',
      [called(piece(0, '{}', f, 'f')), called(piece(1, '{', { id: 'b' }, 'g')), called(piece(0, '{"a":1}'))],
    ],
    ['it is the last one', [called(piece(0, '{}', f, 'f')), called(piece(0, '{"a":1}'))]],
    ['it does so in one piece', [called(piece(0, '{"a":1}\n{"b":2}', f, 'f'))]],
    ['it has no name yet', [called(piece(0, '{"a":1}', f)), called(piece(0, ','))]],
  ])('a call that goes on after it was complete cannot be told: %s', (_, inputs) => {
    const events = eventsOf([...inputs, called(piece(1, '}')), finishes('tool_calls'), done]);
    expect(events.at(-1)).toEqual(failure('The upstream went on with a tool call that was complete.'));
    expect(grammarFault(toldOf(events))).toBeUndefined();
  });
});

describe('a call whose arguments are cut off', () => {
  const f = { id: 'a' };
  const cut = '{"path":"/srv","only_older_than_days":30,"pattern":"*.tm';

  it.each([['tool_calls'], ['function_call'], ['stop'], ['eos'], ['length']])(
    'ends with max_tokens, and is no call to be run (%s)',
    (reason) => {
      const call = called(piece(0, cut, f, 'delete_files'));
      for (const behind of [[], [called(piece(1, '{}', { id: 'b' }, 'g'))], [says({ content: 'a' })]])
        expect(said(call, ...behind, finishes(reason)).stop).toBe('max_tokens');
      expect(said(called(piece(1, '{}', { id: 'b' }, 'g')), call, finishes(reason)).stop).toBe('max_tokens');
    },
  );

  it('is refused where the answer is', () => {
    expect(said(called(piece(0, cut, f, 'f')), finishes('content_filter')).stop).toBe('refusal');
  });

  it('is always told from one that is complete, wherever it was cut and however it comes', () => {
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
