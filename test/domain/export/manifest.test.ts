import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import * as fc from 'fast-check';
import {
  dayFolder,
  isPartName,
  manifestText,
  partName,
  readManifest,
} from '../../../domain/export/manifest.ts';

const cost = 123_456_789_012_345_678_901_234_567_890n;
const manifest = {
  subject: 'ledger',
  day: '2026-11-01',
  format: 'parquet',
  edition: 2,
  rows: 7,
  cost,
  oldest: { requestLogId: '018f0000-0000-7000-8000-000000000001', scope: 'user:"a"' },
  lowest: { requestLogId: '018f0000-0000-7000-8000-000000000000', scope: 'team:b' },
  highest: { requestLogId: '018f0000-0000-7000-8000-000000000002', scope: 'team:b' },
  parts: [{ name: 'part-00000.parquet', rows: 7, bytes: 99, sha256: 'ab', cost }],
} as const;

describe('a manifest', () => {
  it('has rows and cost of the day and of each part, money as a string, and is parsed back', () => {
    const text = manifestText(manifest);
    expect(JSON.parse(text)).toMatchObject({
      version: 1,
      what: 'ledger',
      day: '2026-11-01',
      rows: 7,
      cost_picousd: '123456789012345678901234567890',
      parts: [
        {
          name: 'part-00000.parquet',
          rows: 7,
          cost_picousd: '123456789012345678901234567890',
          bytes: 99,
          sha256: 'ab',
        },
      ],
    });
    const { rows, format, edition, oldest, lowest, highest } = manifest;
    const partNames = ['part-00000.parquet'];
    expect(readManifest(text)).toEqual(
      E.right({ rows, cost, format, edition, oldest, lowest, highest, partNames }),
    );
  });

  it('of an earlier release, which had only the oldest row, is parsed', () => {
    const { lowest, highest, ...earlier } = JSON.parse(manifestText(manifest));
    expect([lowest, highest]).not.toContain(null);
    expect(readManifest(JSON.stringify(earlier))).toMatchObject({
      right: { oldest: manifest.oldest, lowest: undefined, highest: undefined },
    });
  });

  it('of rows without a cost has no cost', () => {
    const text = manifestText({ ...manifest, subject: 'request-logs', cost: undefined, parts: [] });
    expect(text).not.toContain('cost_picousd":');
    expect(readManifest(text)).toMatchObject({ right: { cost: undefined, rows: 7 } });
  });

  it.each(['', 'not json', '[]', '{"version":2}', '{"version":1,"rows":"7"}', '{"version":1,"rows":7}'])(
    'is rejected if it does not have this service’s format: %s',
    (text) => {
      expect(E.isLeft(readManifest(text))).toBe(true);
    },
  );

  it('is parsed without an exception, for any text', () =>
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.json()),
        fc.nat(),
        fc.string({ maxLength: 3 }),
        (text, at, other) => {
          const whole = manifestText(manifest);
          const cut = at % whole.length;
          for (const each of [text, whole.slice(0, cut), whole.slice(0, cut) + other + whole.slice(cut + 1)])
            expect(['Left', 'Right']).toContain(readManifest(each)._tag);
        },
      ),
    ));

  it('is in a folder named by the day, with parts named by number and edition', () => {
    expect(dayFolder('lake/gateway', 'ledger', '2026-11-01')).toBe('lake/gateway/ledger/day=2026-11-01/');
    expect(dayFolder('', 'request-logs', '2026-11-01')).toBe('request-logs/day=2026-11-01/');
    expect([partName(0, 1, 'parquet'), partName(12_345, 2, 'csv.gz')]).toEqual([
      'part-00000.parquet',
      'part-12345-2.csv.gz',
    ]);
    expect(['part-00000.parquet', 'part-00001-12.csv.gz'].map(isPartName)).toEqual([true, true]);
  });

  it.each(['manifest.json', 'part-1.parquet', 'notes', 'my-part-00000.parquet', 'part-00000.parquet~'])(
    'has no part of another name, which a run would remove: %s',
    (name) => {
      expect(isPartName(name)).toBe(false);
    },
  );
});
