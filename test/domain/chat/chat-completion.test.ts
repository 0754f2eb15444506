import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { readChatCompletion } from '../../../domain/chat/chat-completion.ts';
import { observeCompletion } from '../../../domain/chat/observe-chat.ts';
import { maxJsonDepth, maxParsedDepth } from '../../../domain/shared/limits.ts';
import { exactJsonText } from '../../support/arbitraries/json-text.ts';

const read = (text: string) =>
  readChatCompletion(text, 'compat', (message) => message.replaceAll('hunter2', '[REDACTED]'));

/** What the caller gets: `as it came` for the unchanged text, or the text that a rule rewrote. */
const sent = (text: string): string => {
  const answer = read(text);
  if (E.isLeft(answer)) throw new Error(JSON.stringify(answer.left));
  return answer.right.rewritten ?? 'as it came';
};

describe('a unary response of an upstream', () => {
  it.each([
    ['nothing', ''],
    ['HTML', '<html></html>'],
    ['cut JSON', '{"choices":['],
    ['an array', '[{"choices":[]}]'],
    ['null', 'null'],
    ['a string', '"ok"'],
    ['an event stream', 'data: {"choices":[]}\n\n'],
  ])('is a protocol fault if it is not a JSON object: %s', (_, text) => {
    expect(read(text)).toEqual(
      E.left({
        kind: 'protocol',
        message: 'The upstream answered with something that is not a JSON object.',
      }),
    );
  });

  it.each([
    ['no choices', '{"id":"c1"}', 'The upstream answered without `choices`.'],
    ['choices that are no array', '{"choices":{}}', 'The upstream answered without `choices`.'],
    ['choices that are null', '{"choices":null}', 'The upstream answered without `choices`.'],
    ['an error', '{"error":{"message":"quota exceeded"}}', 'quota exceeded'],
    ['an error beside choices', '{"error":{"message":"cut"},"choices":[]}', 'cut'],
    ['an error in a string', '{"error":"no key hunter2"}', 'no key [REDACTED]'],
    ['a message instead of an answer', '{"message":"hunter2 is down"}', '[REDACTED] is down'],
    ['an error without a message', '{"error":{},"choices":[]}', 'The upstream reported an error.'],
    [
      'an error in a choice',
      '{"choices":[{"message":{"content":"Half"},"finish_reason":"error","error":{"code":502,"message":"no key hunter2"}}]}',
      'no key [REDACTED]',
    ],
    [
      'a reason in x_groq',
      '{"choices":[{"message":{}}],"x_groq":{"error":"over_capacity"}}',
      'over_capacity',
    ],
  ])(
    'is a protocol fault if it is an error or not a chat completion, under status 200 too: %s',
    (_, text, message) => {
      expect(read(text)).toEqual(E.left({ kind: 'protocol', message }));
    },
  );

  it.each([
    ['at the top', { usage: { prompt_tokens: 5, completion_tokens: 7 } }],
    ['in x_groq', { x_groq: { usage: { prompt_tokens: 5, completion_tokens: 7 } } }],
  ])('that is an error keeps the usage that it reports: %s', (_, told) => {
    expect(read(JSON.stringify({ error: { message: 'cut' }, choices: [], ...told }))).toEqual(
      E.left({ kind: 'protocol', message: 'cut', usage: { prompt_tokens: 5, completion_tokens: 7 } }),
    );
  });

  it.each([
    ['{ "choices" : [], "n": 9007199254740993 }'],
    ['{"error":null,"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"cost":0.10}}'],
    ['{"choices":[{"message":{"content":"a","reasoning_content":"hm"}}]}'],
    ['{"choices":[{"message":{"content":[{"type":"text","text":"a"}]}}]}'],
    ['{"choices":[{"message":null},{"text":"a"},null,7]}'],
    ...['""', '{}', 'false', '[]', '{"code":null,"message":""}'].map((empty) => [
      `{"choices":[{"message":{"content":"a"},"error":${empty}}],"error":${empty}}`,
    ]),
    ['{"choices":[{"message":{"content":"a"},"error":null}],"x_groq":{"id":"r","error":""}}'],
  ])('is forwarded unchanged when no rule applies: %s', (text) => {
    expect(sent(text)).toBe('as it came');
  });

  it('never makes the parser throw', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          exactJsonText,
          exactJsonText.map((text) => `{"choices":[${text}]}`),
        ),
        (text) => {
          read(text);
        },
      ),
    );
  });
});

describe('native reasoning is never placed in choices[*].message.content', () => {
  const thinking = '{"type":"thinking","thinking":"hm","signature":"s"}';
  const message = (fields: string): string =>
    `{"id":"c1","choices":[{"index":0,"message":{${fields}},"finish_reason":"stop"}],"n":0.10}`;

  it.each([
    [
      'a thinking part is kept under provider_metadata.compat.reasoning',
      `"role":"assistant","content":[${thinking},{"type":"text","text":"a"},{"type":"text","text":"b"}]`,
      `"role":"assistant","content":"ab","provider_metadata":{"compat":{"reasoning":[${thinking}]}}`,
    ],
    [
      'a thinking part alone',
      `"content":[${thinking}]`,
      `"content":"","provider_metadata":{"compat":{"reasoning":[${thinking}]}}`,
    ],
    [
      'a summary of reasoning too',
      '"content":[{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]},{"type":"text","text":"a"}]',
      '"content":"a","provider_metadata":{"compat":{"reasoning":[{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]}]}}',
    ],
    [
      'redacted thinking too',
      '"content":[{"type":"text","text":"a"},{"type":"redacted_thinking","data":"x"}]',
      '"content":"a","provider_metadata":{"compat":{"reasoning":[{"type":"redacted_thinking","data":"x"}]}}',
    ],
  ])('%s', (_, fields, out) => {
    expect(sent(message(fields))).toBe(message(out));
  });

  it('applies to every choice, and keeps elements that are not choices', () => {
    expect(
      sent(
        `{"choices":[null,{"message":{"content":[${thinking}]}},{"message":{"content":[{"type":"text","text":"b"}]}},7]}`,
      ),
    ).toBe(
      `{"choices":[null,{"message":{"content":"","provider_metadata":{"compat":{"reasoning":[${thinking}]}}}},{"message":{"content":[{"type":"text","text":"b"}]}},7]}`,
    );
  });

  it('keeps usage readable after a rewrite, in any notation of the counts', () => {
    const answer = read(
      `{"choices":[{"message":{"content":[${thinking}]}}],"usage":{"prompt_tokens":12.0,"completion_tokens":1e1,"cost":0.10}}`,
    );
    if (E.isLeft(answer)) throw new Error(JSON.stringify(answer.left));
    expect(answer.right.rewritten).toContain('"prompt_tokens":12.0,"completion_tokens":1e1,"cost":0.10');
    expect(observeCompletion(answer.right.value)).toMatchObject({
      usage: { promptTokens: 12, completionTokens: 10, totalTokens: 22 },
      usageUnusable: false,
    });
  });

  it('rejects an answer nested too deeply to rewrite, but accepts it if it needs no rewrite', () => {
    const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
    const touched = (levels: number): string =>
      `{"choices":[{"message":{"content":[${thinking}]}}],"a":${deep(levels)}}`;
    expect(E.isRight(read(touched(maxJsonDepth - 1)))).toBe(true);
    expect(read(touched(maxJsonDepth))).toEqual(
      E.left({ kind: 'protocol', message: 'The upstream sent an answer that is nested too deeply.' }),
    );
    expect(sent(`{"choices":[],"a":${deep(maxParsedDepth - 1)}}`)).toBe('as it came');
    expect(E.isLeft(read(`{"choices":[],"a":${deep(100_000)}}`))).toBe(true);
  });
});
