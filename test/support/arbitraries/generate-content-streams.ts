import * as fc from 'fast-check';
import { aLineEnding } from './event-streams.ts';

/** The framing of a generate-content stream: server-sent events, or one JSON array. */
export type Framing = 'sse' | 'array';

/** The bytes of a stream whose events are these texts. */
export function framed(framing: Framing, texts: readonly string[], eol = '\r\n'): Buffer {
  if (framing === 'array') return Buffer.from(`[${texts.join(`${eol},${eol}`)}${eol}]`);
  return Buffer.from(texts.map((text) => `data: ${text}${eol}${eol}`).join(''));
}

const candidate = (inner: string): string => `{"candidates":[{${inner}}]}`;
const parts = (inner: string): string => candidate(`"content":{"role":"model","parts":[${inner}]}`);

/** Texts of events of every kind; more of them well-formed than not. */
const anEventText = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      parts('{"text":"Grüße 😀"}'),
      parts('{"text":"hm \\" ] }","thought":true}'),
      parts('{"text":"","thoughtSignature":"c2ln"}'),
      parts('{"functionCall":{"name":"f","args":{"n":9007199254740993}}},{"text":"a"}'),
      parts('{"functionCall":{"name":"g","willContinue":true}}'),
      parts(
        '{"functionCall":{"partialArgs":[{"jsonPath":"$.a[0].b","stringValue":"x","willContinue":true}],"willContinue":true}}',
      ),
      parts('{"functionCall":{"partialArgs":[{"jsonPath":"$.a[0].b","stringValue":"y"}]}}'),
      parts('{"functionCall":{}}'),
      parts('{"executableCode":{"code":"1"}}'),
      candidate('"index":1,"content":{"parts":[{"text":"b"}]}'),
      '{"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":5,"totalTokenCount":8}}',
      '{"usageMetadata":{"trafficType":"ON_DEMAND"}}',
      '{}',
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      candidate('"finishReason":"STOP"'),
      candidate('"content":{"parts":[{"text":"."}]},"finishReason":"MAX_TOKENS"'),
      candidate('"index":1,"finishReason":1'),
      '{"promptFeedback":{"blockReason":"SAFETY"}}',
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '{"error":{"code":503,"message":"overloaded"}}',
      '{"candidates":[',
      '<html>',
      '[1]',
      'null',
      parts('{"functionCall":{"name":"f","partialArgs":[{"jsonPath":"$[7]","boolValue":true}]}}'),
    ),
  },
);

/** A whole stream of such events. */
export const aContentStream = (framing: Framing): fc.Arbitrary<Buffer> =>
  fc
    .tuple(fc.array(anEventText, { maxLength: 12, size: 'max' }), aLineEnding)
    .map(([texts, eol]) => framed(framing, texts, eol));

/** Fragments of arrays of objects, valid and nearly valid. */
export const jsonArraySoup: fc.Arbitrary<Buffer> = fc
  .array(
    fc.constantFrom(
      '[',
      ']',
      '{',
      '}',
      ',',
      ' ',
      '\r\n',
      '"',
      '\\',
      '\\"',
      ':',
      '1',
      'é',
      '😀',
      '\u2028',
      '{"a":[1,{"b":"]}"}]}',
      '{"error":{"message":"m"}}',
    ),
    { maxLength: 24, size: 'max' },
  )
  .map((pieces) => Buffer.from(pieces.join('')));
