import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';

const root = path.join(import.meta.dirname, '..', '..');

interface Shown {
  readonly file: string;
  readonly title: string;
}

interface Threat {
  /** Who attacks: the heading above the table. */
  readonly attacker: string;
  readonly tries: string;
  readonly shownBy: readonly Shown[];
}

const codeSpan = /(?<!`)(`+)(?!`)(.*?[^`])\1(?!`)/g;

/** The last cell of a row: each file is followed by the titles in it. */
function shownIn(cell: string): readonly Shown[] {
  let file = '';
  return [...cell.matchAll(codeSpan)].flatMap(([, , text = '']) => {
    const span = text.trim();
    if (!/^test\/\S+\.ts$/.test(span)) return [{ file, title: span }];
    file = span;
    return [];
  });
}

/** The rows of the tables whose last column is `Shown by`. */
function threatsIn(text: string): readonly Threat[] {
  let attacker = '';
  let isTable = false;
  return text.split('\n').flatMap((line) => {
    if (line.startsWith('## ')) attacker = line.slice('## '.length);
    if (!line.startsWith('|')) isTable = false;
    const [tries = '', , cell = ''] = line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((each) => each.trim());
    if (cell === 'Shown by') isTable = true;
    return isTable && cell !== 'Shown by' && !/^-+$/.test(cell)
      ? [{ attacker, tries, shownBy: shownIn(cell) }]
      : [];
  });
}

/** The first string of each call or row of cases in a file, without the escapes of its quotes. */
const titlesIn = (text: string): ReadonlySet<string> =>
  new Set(
    [...text.matchAll(/[([]\s*(?=(['"`])((?:\\.|(?!\1)[^\n\\])*)\1,)/g)].map(([, , title = '']) =>
      title.replace(/\\(['"`\\])/g, '$1').trim(),
    ),
  );

const titlesOf = (file: string): ReadonlySet<string> | undefined => {
  const at = path.join(root, file);
  return file !== '' && existsSync(at) ? titlesIn(readFileSync(at, 'utf8')) : undefined;
};

const faultsOf = (threats: readonly Threat[]): readonly string[] =>
  threats.flatMap(({ attacker, tries, shownBy }) => [
    ...(shownBy.length > 0 ? [] : [`${attacker}: ${tries}: nothing shows it`]),
    ...shownBy.flatMap(({ file, title }) => {
      const titles = titlesOf(file);
      if (titles === undefined) return [`${attacker}: ${tries}: no file ${file}`];
      return titles.has(title) ? [] : [`${attacker}: ${tries}: no test «${title}» in ${file}`];
    }),
  ]);

const text = readFileSync(path.join(root, 'SECURITY.md'), 'utf8');
const threats = threatsIn(text);

describe('the threats of SECURITY.md', () => {
  it('are each shown by existing tests', () => {
    expect(faultsOf(threats)).toEqual([]);
  });

  it('cover every attacker, and are all read by the check', () => {
    expect([...new Set(threats.map(({ attacker }) => attacker))]).toEqual([
      'A caller without a key',
      'A caller with a key',
      'A tenant against another',
      'An upstream',
      'An MCP server',
      'An admin’s browser',
      'A stolen database dump',
      'A reader of logs, traces and metrics',
      'The network',
      'The supply chain',
    ]);
    expect(threats.length).toBe(text.split('\n').filter((line) => /^\| .*`test\//.test(line)).length);
    expect(threats.length).toBeGreaterThan(40);
  });

  const table = (cell: string): string =>
    `## Somebody\n\n| What it tries | What | Shown by |\n|---|---|---|\n| steals | b | ${cell} |\n`;

  it.each([
    ['a missing file', '`test/none.test.ts`: `a title`', 'no file test/none.test.ts'],
    ['a title without a test', '`test/architecture/security.test.ts`: `no such`', 'no test «no such»'],
    ['a threat without a test', 'the code', 'nothing shows it'],
    ['a title without a file', '`are each shown by tests that are there`', 'no file'],
  ])('a planted fault is found: %s', (_, cell, fault) => {
    expect(faultsOf(threatsIn(table(cell)))).toEqual([expect.stringContaining(fault)]);
  });

  it('a valid row is parsed into its files and titles', () => {
    const good = table('`test/a.test.ts`: `one`, `` two `2` ``; `test/b.test.ts`: `three`');
    expect(threatsIn(good)).toEqual([
      {
        attacker: 'Somebody',
        tries: 'steals',
        shownBy: [
          { file: 'test/a.test.ts', title: 'one' },
          { file: 'test/a.test.ts', title: 'two `2`' },
          { file: 'test/b.test.ts', title: 'three' },
        ],
      },
    ]);
  });
});
