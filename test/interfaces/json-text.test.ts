import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Json } from '../../domain/shared/json.ts';
import { type AdminData, JsonText, serialisedData } from '../../interfaces/http/json-text.ts';
import { aJson, exactJsonText } from '../support/arbitraries/json-text.ts';

describe('the data of an admin answer', () => {
  it('is serialised as by JSON.stringify, with every stored JSON text unchanged', () => {
    /** Texts that look like the placeholder of a stored text. */
    const aTrap = fc.constantFrom('"\\/0"', '\\/0', '"\\/1"', '\\"\\/0\\"').map((text): Json => text);
    const aText = fc.oneof(
      exactJsonText,
      aTrap.map((text) => JSON.stringify(text)),
      fc.constantFrom('"\\/0"', '{ "2": 1.0, "1": "\\u00e9\\/" }', '[\n]', 'null', '-0'),
    );
    const leaf: fc.Arbitrary<AdminData> = fc.oneof(
      aText.map((text) => new JsonText(text)),
      aJson,
      aTrap,
    );
    const someData = fc.dictionary(
      fc.oneof(fc.string(), fc.constantFrom('"\\/0"', '\\/0')),
      fc.oneof(leaf, fc.array(leaf, { maxLength: 4 })),
      { noNullPrototype: true },
    );
    /** The expected text, member by member. */
    const text = (data: AdminData): string => {
      if (data instanceof JsonText) return data.text;
      return Array.isArray(data) ? `[${data.map(text).join(',')}]` : JSON.stringify(data);
    };
    fc.assert(
      fc.property(someData, (data) => {
        const members = Object.entries(data).map(([key, value]) => `${JSON.stringify(key)}:${text(value)}`);
        expect(serialisedData(data)).toBe(`{${members.join(',')}}`);
      }),
    );
  });
});
