import * as fc from 'fast-check';

/** Fragments of event streams, valid and nearly valid. */
const piece = fc.oneof(
  fc.constantFrom('\n', '\r', '\r\n', '\n\n', '\r\r', '\r\n\r\n', ':', ' ', '\uFEFF', '\0'),
  fc.constantFrom(
    'data:',
    'data: ',
    'data',
    'event:',
    'event: x',
    'id: 1',
    'retry: 5',
    ': comment',
    'dataset: 1',
  ),
  fc.constantFrom('{"a":1}', '[DONE]', 'é', '\u2028', '😀', 'data: {"choices":[]}\n\n', 'data: [DONE]\n\n'),
);

/** Text that is likely to break a parser of event streams. */
export const eventStreamSoup: fc.Arbitrary<Buffer> = fc
  .array(piece, { maxLength: 24, size: 'max' })
  .map((pieces) => Buffer.from(pieces.join('')));

export const aLineEnding = fc.constantFrom('\n', '\r\n', '\r');

/** A value on one line of a stream: any text without line breaks. */
const aLineValue = fc
  .string({ unit: 'grapheme', maxLength: 20 })
  .map((text) => text.replaceAll(/[\r\n]/g, ' '));

export interface WrittenEvent {
  readonly name: string | undefined;
  readonly nameFirst: boolean;
  readonly data: readonly string[];
  readonly comments: readonly string[];
}

/** An event with data; it may have a name and comments, in any order. */
export const aWrittenEvent: fc.Arbitrary<WrittenEvent> = fc.record({
  name: fc.option(fc.constantFrom('message', 'error', 'response.created', 'ping'), { nil: undefined }),
  nameFirst: fc.boolean(),
  data: fc.array(aLineValue, { minLength: 1, maxLength: 3 }),
  comments: fc.array(aLineValue, { maxLength: 2 }),
});

/** The lines of an event, without the blank one that ends it. */
export function linesOf({ name, nameFirst, data, comments }: WrittenEvent): readonly string[] {
  const named = name === undefined ? [] : [`event: ${name}`];
  const values = data.map((value) => `data: ${value}`);
  return [
    ...comments.map((comment) => `:${comment}`),
    ...(nameFirst ? [...named, ...values] : [...values, ...named]),
  ];
}
