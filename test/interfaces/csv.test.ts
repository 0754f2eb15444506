import { describe, expect, it } from '@jest/globals';
import { csvOf } from '../../interfaces/admin-page/src/ui/csv.ts';

const cell = (text: string | number): string =>
  csvOf([{ title: 'Name', text: () => text }], [{}])
    .split('\r\n')
    .slice(1)
    .join('\r\n');

describe('a cell of a table as CSV', () => {
  it.each(['=1+1', '+1+1', '-1+1', '@sum(a1)', '＝1+1', '＋1', '－1', '＠a', '\t=1', '\r=1'])(
    '%j is not a formula to a spreadsheet',
    (text) => {
      expect(cell(text).replaceAll('"', '')).toBe(`'${text}`);
    },
  );

  it.each(['a,=1', 'a;=1', 'a\t=1', 'a\n=1', 'a"b'])('%j stays one cell', (text) => {
    expect(cell(text)).toBe(`"${text.replaceAll('"', '""')}"`);
  });

  it.each(['-1', '-1.5', '12', 'plain', 'a=b'])('%j stays unchanged', (text) => {
    expect(cell(text)).toBe(text);
  });
});
