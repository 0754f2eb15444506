import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { type Json, parseExact } from '../../../domain/shared/json.ts';
import { parseDigits, parseDocument, type ParseScanned } from '../../../domain/shared/json-document.ts';
import { maxJsonDepth } from '../../../domain/shared/limits.ts';
import { parseText } from '../../../domain/shared/parse-text.ts';
import { aJson, aJsonObject, exactJsonText, writtenOf } from '../../support/arbitraries/json-text.ts';

describe('a scanned body is parsed', () => {
  const anObjectText = fc.oneof(
    exactJsonText.map((text) => `{"a":${text},"b":{"c":[${text}]}}`),
    aJsonObject.chain((object) => writtenOf(object)),
    aJson.chain((value) => writtenOf({ list: [value] })),
  );
  const valueOf = (text: string, parse?: ParseScanned): Json => {
    const parsed = parseDocument(text, {}, parse);
    fc.pre(E.isRight(parsed));
    return E.isRight(parsed) ? parsed.right.value : null;
  };

  it('to its value, however its keys are written', () => {
    fc.assert(
      fc.property(anObjectText, (text) => {
        expect(valueOf(text)).toEqual(parseText(text));
      }),
      { numRuns: 1000 },
    );
  });

  it('with every digit of any number, if exact digits are requested', () => {
    fc.assert(
      fc.property(anObjectText, (text) => {
        expect(JSON.stringify(valueOf(text, parseDigits))).toBe(JSON.stringify(parseExact(text)));
      }),
      { numRuns: 1000 },
    );
  });

  it.each(['9007199254740993', '-9007199254740993', '90071992547409931', '-0', '1.0', '1e2', '1E+2', '0.10'])(
    'with every digit of the number %s',
    (digits) => {
      for (const text of [`{"a":${digits}}`, `{"a":[true,${digits},1]}`])
        expect(JSON.stringify(valueOf(text, parseDigits))).toBe(text);
    },
  );
});

it.each([
  ['objects', '{"role":"user"}'],
  ['arrays', '[1]'],
  ['empty objects and arrays', '{},[]'],
])('a level that is read may have any number of sibling %s, which do not count as depth', (_, item) => {
  const text = `{"messages":[${Array.from({ length: 2 * maxJsonDepth }, () => item).join(',')}]}`;
  expect(E.isRight(parseDocument(text, { messages: { '*': { '*': {} } } }))).toBe(true);
});

it.each([
  ['{"a":{b":1}}', 7],
  ['{"a":1"b":2}', 7],
])(
  'invalid JSON is reported at the first character that cannot be there: %s, character %d',
  (text, character) => {
    expect(parseDocument(text, { a: {} })).toMatchObject(
      E.left({ message: `The request body is not valid JSON (character ${character}).` }),
    );
  },
);
