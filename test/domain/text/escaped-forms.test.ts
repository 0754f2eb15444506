import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { findAny } from '../../../domain/text/find-any.ts';
import { escapedForm } from '../../../domain/text/escaped-forms.ts';
import { aCredential } from '../../support/arbitraries/payloads.ts';
import { costWithin } from '../../support/cost.ts';

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);
const escaped = (sign: string): string => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`;

const spellings: readonly (readonly [name: string, spell: (text: string) => string])[] = [
  ['as it is', (text) => text],
  ['in JSON', inJson],
  ['in JSON in JSON', (text) => inJson(inJson(text))],
  ['in JSON in JSON in JSON in JSON', (text) => inJson(inJson(inJson(inJson(text))))],
  ['with escaped slashes', (text) => inJson(text).replaceAll('/', '\\/')],
  ['with every special character escaped', (text) => text.replace(/[^a-zA-Z0-9]/g, escaped)],
  ['in a URL', encodeURIComponent],
  [
    'in a URL, in lower case',
    (text) => encodeURIComponent(text).replace(/%../g, (each) => each.toLowerCase()),
  ],
  ['in a URL in a URL', (text) => encodeURIComponent(encodeURIComponent(text))],
  ['in JSON in a URL', (text) => encodeURIComponent(inJson(text))],
  ['in a form', (text) => new URLSearchParams({ a: text }).toString().slice(2)],
];

describe('the pattern for a text in every common encoding', () => {
  it.each(spellings)('matches the text %s', (_, spell) => {
    fc.assert(
      fc.property(aCredential, fc.string(), fc.string(), (secret, before, after) => {
        const [found] = new RegExp(escapedForm(secret)).exec(before + spell(secret) + after) ?? [];
        expect(found).toContain(spell(secret));
      }),
    );
  });

  it('does not match another text', () => {
    fc.assert(
      fc.property(aCredential, aCredential, (secret, other) => {
        fc.pre(!other.includes(secret));
        expect(new RegExp(`^${escapedForm(secret)}$`).test(other)).toBe(false);
      }),
    );
  });

  it.each(['\\', '\\"', '%25', '%5C', '"', '%'])(
    'is searched for in time proportional to the text: 4 MB of %s',
    (unit) => {
      const pattern = new RegExp(escapedForm('\\\\\\"%a secret\\'), 'g');
      const work = (): void => expect(pattern.test(unit.repeat(4_000_000 / unit.length))).toBe(false);
      expect(costWithin(10_000, work)).toBeLessThan(10_000);
    },
  );
});

describe('one search for many texts', () => {
  it('finds exactly those that occur in a text', () => {
    const aText = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 3, maxLength: 8 });
    const haystack = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'é'), maxLength: 60 });
    fc.assert(
      fc.property(fc.uniqueArray(aText, { minLength: 1, maxLength: 12 }), haystack, (texts, text) => {
        const found = new Set<string>();
        findAny(texts)(text, (index) => void found.add(texts[index] ?? ''));
        expect([...found].sort()).toEqual(texts.filter((each) => text.includes(each)).sort());
      }),
      { numRuns: 2000 },
    );
  });
});
