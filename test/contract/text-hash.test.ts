import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { textHash } from '../../infrastructure/postgres/citus/text-hash.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';

const query = queries(withDatabase().url);

describe('the hash of a text', () => {
  it("equals the database's `hashtext`, for any length and letters", async () => {
    const arbitrary = fc.string({ unit: 'grapheme', maxLength: 60 }).filter((text) => !text.includes('\0'));
    const lengths = Array.from({ length: 40 }, (_, length) => 'x'.repeat(length));
    const texts = [...lengths, ...fc.sample(arbitrary, { numRuns: 500, seed: 7 })].filter((text) =>
      text.isWellFormed(),
    );
    const rows = await query<{ hash: number }>(
      'select hashtext(text) as hash from unnest($1::text[]) with ordinality t(text, ord) order by ord',
      [texts],
    );
    expect(texts.map(textHash)).toEqual(rows.map(({ hash }) => hash));
  });
});
