import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { isJsonBlank, JsonBrackets } from '../../../domain/text/json-brackets.ts';
import { exactJsonText } from '../../support/arbitraries/json-text.ts';

/** Where the units close the outermost bracket, counted from 0. */
function closings(units: Iterable<number>): readonly number[] {
  const brackets = new JsonBrackets();
  return [...units].flatMap((unit, at) => (brackets.closes(unit) ? [at] : []));
}

const unitsOf = (text: string): readonly number[] =>
  Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));

const inBrackets = exactJsonText.filter((text) => /^[{[]/.test(text));

describe('the outermost bracket', () => {
  it('is closed by the last character of any array or object, and by none before it', () => {
    fc.assert(
      fc.property(inBrackets, (text) => {
        expect(closings(unitsOf(text))).toEqual([text.length - 1]);
      }),
    );
  });

  it('is found in UTF-8 as in UTF-16', () => {
    fc.assert(
      fc.property(inBrackets, (text) => {
        const bytes = new TextEncoder().encode(text);
        expect(closings(bytes)).toEqual([bytes.length - 1]);
      }),
    );
  });

  it('is found in each of several values that follow one another', () => {
    fc.assert(
      fc.property(fc.array(inBrackets, { maxLength: 3 }), (texts) => {
        const ends = texts.map((_, index) => texts.slice(0, index + 1).join(', ').length - 1);
        expect(closings(unitsOf(texts.join(', ')))).toEqual(ends);
      }),
    );
  });

  it.each([
    ['a bracket in a string', '{"a":"}"', []],
    ['an escaped quote', '{"a":"\\"}', []],
    ['an escaped backslash before a quote', '{"a":"\\\\"}', [9]],
    ['a bracket after which more comes', '[{}]]', [3]],
  ])('is told from %s', (_, text, found) => {
    expect(closings(unitsOf(text))).toEqual(found);
  });
});

it('white space of JSON is four characters', () => {
  const all = Array.from({ length: 256 }, (_, code) => code);
  expect(all.filter(isJsonBlank)).toEqual(unitsOf('\t\n\r '));
});
