import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { DocumentNames } from '../../infrastructure/providers/cloud-b/unified-documents.ts';
import { anyText } from '../support/arbitraries/text.ts';
import { costWithin } from '../support/cost.ts';

const namesOf = (...files: readonly string[]): readonly string[] => {
  const names = new DocumentNames();
  return files.map((file) => names.nameOf(file));
};

describe('document names lose extensions and are normalised', () => {
  it.each([
    ['report.pdf', 'report'],
    ['report.final.PDF', 'report-final'],
    ['/home/a/report.pdf', 'report'],
    ['C:\\files\\report.pdf', 'report'],
    ['Q3 report (draft) [2].xlsx', 'Q3 report (draft) [2]'],
    ['two  blanks\tand\nmore.txt', 'two blanks and more'],
    ['snake_case_name.csv', 'snake-case-name'],
    ['Résumé.docx', 'Resume'],
    ['v1.2', 'v1-2'],
    ['...', 'document'],
    ['.pdf', 'document'],
    ['报告.pdf', 'document'],
    ['', 'document'],
    [`${'a'.repeat(300)}.pdf`, 'a'.repeat(200)],
  ])('for the file %j', (file, name) => {
    expect(namesOf(file)).toEqual([name]);
  });

  it('repeated names are numbered, skipping numbers that are taken', () => {
    expect(namesOf('a.pdf', 'a (2).pdf', 'a.csv', 'a.md', 'b.pdf')).toEqual([
      'a',
      'a (2)',
      'a (3)',
      'a (4)',
      'b',
    ]);
    const long = 'a'.repeat(200);
    expect(namesOf(long, long)[1]).toMatch(/^a{190} \(2\)$/);
  });

  it('any names become names that the platform accepts, all different, and the same every time', () => {
    const aName = fc.oneof(
      anyText,
      fc.string({ unit: fc.constantFrom('a', 'b', ' ', '.', '(', '2', ')', '_', '-', '\n'), maxLength: 6 }),
      fc.constantFrom('a.pdf', 'a', 'a (2)', 'A', `${'x'.repeat(250)}.pdf`, 'x'.repeat(195)),
    );
    fc.assert(
      fc.property(fc.array(aName, { maxLength: 12 }), (files) => {
        const names = namesOf(...files);
        for (const name of names) {
          expect(name).toMatch(/^[A-Za-z0-9\-()[\] ]{1,200}$/);
          expect(name).not.toMatch(/ {2}/);
        }
        expect(new Set(names).size).toBe(files.length);
        expect(namesOf(...files)).toEqual(names);
        expect(namesOf(...files, 'more').slice(0, -1)).toEqual(names);
      }),
      { numRuns: 300 },
    );
  });

  it('50,000 files with few different names take less than 3 seconds', () => {
    const files = Array.from({ length: 50_000 }, (_, index) => `${'x'.repeat(197)}${index % 500}.pdf`);
    const work = (): void => expect(new Set(namesOf(...files)).size).toBe(50_000);
    expect(costWithin(3000, work)).toBeLessThan(3000);
  });
});
