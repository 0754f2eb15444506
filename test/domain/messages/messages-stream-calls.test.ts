import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { fromChatCompletion } from '../../../domain/messages/from-chat.ts';
import { messagesStream } from '../../../domain/messages/messages-stream.ts';
import { seal } from '../../../domain/shared/stream-machine.ts';
import { outputsOf } from '../../support/machine-laws.ts';
import { about, called, done, finishes, piece, said, saidIn, toldOf } from './messages-stream-told.ts';

describe('the ids of calls', () => {
  it('are different if the upstream gives several calls the same one, streamed and whole', () => {
    const calls = ['f', 'g', 'h'].map((name, index) => piece(index, '{}', { id: 'a' }, name));
    const whole = fromChatCompletion({ choices: [{ message: { tool_calls: calls } }] }, about);
    const ids = ['a', 'toolu_1_1', 'toolu_1_2'];
    expect(whole).toMatchObject(E.right({ content: ids.map((id) => ({ id })) }));
    for (const streamed of [[called(...calls)], calls.map((call) => called(call))])
      expect(said(...streamed).calls.map(({ id }) => id)).toEqual(ids);
  });
});

describe('ids of calls that are numbers', () => {
  it('reach messages callers as texts, streamed and whole', () => {
    const calls = [7, 0, 7].map((id, index) => piece(index, '{}', { id }, 'f'));
    const whole = fromChatCompletion({ choices: [{ message: { tool_calls: calls } }] }, about);
    const ids = ['7', '0', 'toolu_1_2'];
    expect(whole).toMatchObject(E.right({ content: ids.map((id) => ({ id })) }));
    for (const streamed of [[called(...calls)], calls.map((call) => called(call))])
      expect(said(...streamed).calls.map(({ id }) => id)).toEqual(ids);
  });

  it('tell calls apart that all have the same index', () => {
    const pieces = [piece(0, '', { id: 1 }, 'f'), piece(0, '{}'), piece(0, '{}', { id: 2 }, 'f')];
    expect(said(...pieces.map((each) => called(each))).calls).toEqual([
      { id: '1', name: 'f', args: '{}' },
      { id: '2', name: 'f', args: '{}' },
    ]);
  });
});

describe('the ids of calls of an upstream that begins with the same ids in each answer', () => {
  it('are different from those that the conversation has, streamed and whole', () => {
    const later = { ...about, calls: { ids: ['f:0'], toolNames: new Map() } };
    const calls = ['f', 'g'].map((name, index) => piece(index, '{}', { id: `${name}:${index}` }, name));
    const whole = fromChatCompletion({ choices: [{ message: { tool_calls: calls } }] }, later);
    const streamed = outputsOf(seal(messagesStream(later)), [called(...calls), done]);
    const ids = ['toolu_1_0', 'g:1'];
    expect(whole).toMatchObject(E.right({ content: ids.map((id) => ({ id })) }));
    expect(saidIn(toldOf(streamed)).calls.map(({ id }) => id)).toEqual(ids);
  });
});

describe('the name of a call', () => {
  it.each<[string, readonly string[]]>([
    ['in pieces', ['read', '_', 'file']],
    ['whole in each piece', ['read_file', 'read_file']],
    ['all so far in each piece', ['read', 'read_file']],
  ])('is read once if it is sent %s before the arguments', (_, names) => {
    const pieces = names.map((name, at) => called(piece(0, '', at === 0 ? { id: 'a' } : {}, name)));
    const args = [called(piece(0, '{"a"')), called(piece(0, ':1}', {}, 'read_file'))];
    expect(said(...pieces, ...args, finishes('tool_calls')).calls).toEqual([
      { id: 'a', name: 'read_file', args: '{"a":1}' },
    ]);
    expect(said(...pieces, finishes('tool_calls')).calls).toEqual([{ id: 'a', name: 'read_file', args: '' }]);
  });
});

describe('arguments that an upstream sends again', () => {
  it.each<[string, readonly string[], string]>([
    ['all so far in each piece', ['{', '{"a"', '{"a":{"b"', '{"a":{"b":1', '{"a":{"b":1}}'], '{"a":{"b":1}}'],
    ['all so far in each piece, also where a value begins', ['{"a"', '{"a":', '{"a":1}'], '{"a":1}'],
    ['all so far in each piece, some of which add nothing', ['{"a', '{"a', '{"a":1}', '{"a":1}'], '{"a":1}'],
    ['the whole once more, with other white space', ['{"a":', ' 1}', '{"a":1}'], '{"a": 1}'],
    ['the whole once more, encoded as a text', ['{"a":', '1}', '"{\\"a\\":1}"'], '{"a":1}'],
  ])('are read once: %s', (_, texts, args) => {
    const pieces = texts.map((text) => called(piece(0, text)));
    const { calls, stop } = said(called(piece(0, '', { id: 'a' }, 'f')), ...pieces, finishes('tool_calls'));
    expect({ calls, stop }).toEqual({ calls: [{ id: 'a', name: 'f', args }], stop: 'tool_use' });
  });

  it('are not an object in itself that begins like the one around it', () => {
    for (const begun of ['{"a":', '{"a": ']) {
      const texts = [begun, begun, `[${begun}`, '1}]}}'];
      const pieces = texts.map((text) => called(piece(0, text, { id: 'a' }, 'f')));
      expect(said(...pieces).calls).toEqual([{ id: 'a', name: 'f', args: texts.join('') }]);
    }
  });
});

describe('an empty object of arguments', () => {
  it.each<[string, readonly string[], string]>([
    ['the arguments that follow, in pieces', ['{}', '', '{"a":', '1}'], '{"a":1}'],
    ['the arguments that follow as a whole', ['{}', '{"a":1}'], '{"a":1}'],
    ['the arguments that follow, and those are sent again', ['{}', '{"a"', '{"a":1}', '{"a":1}'], '{"a":1}'],
    [
      'the arguments that follow, and then once more with other white space',
      ['{}', '{"a":1}', '{"a": 1}'],
      '{"a":1}',
    ],
    ['nothing', ['{}'], '{}'],
    ['blanks', ['{}', '\n'], '{}\n'],
    ['another one', ['{}', '{}'], '{}'],
  ])('gives way to %s', (_, texts, args) => {
    const pieces = texts.map((text, at) =>
      called(at === 0 ? piece(0, text, { id: 'a' }, 'f') : piece(0, text)),
    );
    const behind = called(piece(1, '{"b":2}', { id: 'b' }, 'g'));
    const { calls, stop } = said(...pieces, behind, finishes('tool_calls'));
    expect({ calls, stop }).toEqual({
      calls: [
        { id: 'a', name: 'f', args },
        { id: 'b', name: 'g', args: '{"b":2}' },
      ],
      stop: 'tool_use',
    });
  });
});
