import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';

interface Source {
  /** From the root, with slashes. */
  readonly path: string;
  readonly text: string;
}

interface Rule {
  readonly number: string;
  readonly path: string;
  readonly where: readonly string[];
  readonly shownBy: readonly string[];
}

interface Law {
  readonly rules: readonly Rule[];
  /** Top-level declarations of the product, and named objects of its SQL. */
  readonly symbols: ReadonlySet<string>;
  readonly titles: ReadonlySet<string>;
  /** Files that may cite rules, and must not cite documents outside the repository. */
  readonly sources: readonly Source[];
}

const root = path.join(import.meta.dirname, '..', '..');
const here = 'test/architecture/rules.test.ts';
const productFolders = ['domain', 'application', 'infrastructure', 'interfaces', 'composition', 'tools'];
/** `node_modules`, and what git, the quick start and tools create in a working tree. */
const notOurs = /(?:^|\/)(?:node_modules|\.git|\.gateway|dist|dist-docs|coverage)(?:\/|$)/;
const isText = /(?:\.(?:tsx?|mjs|md|sql|ya?ml|json)|^\.ci\/.*)$/;

function filesIn(folder: string): readonly string[] {
  if (!existsSync(path.join(root, folder))) return [];
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const file = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (notOurs.test(file)) return [];
    return entry.isDirectory() ? filesIn(file) : isText.test(file) ? [file] : [];
  });
}

const read = (file: string): Source => ({ path: file, text: readFileSync(path.join(root, file), 'utf8') });

/** The text of each code span; one that contains backticks is delimited by two of them, and may be padded. */
const spansIn = (cell: string): readonly string[] =>
  [...cell.matchAll(/(?<!`)(`+)(?!`)(.*?[^`])\1(?!`)/g)].map(([, , text = '']) =>
    text.trim().replaceAll('\\|', '|'),
  );

/** The table rows that begin with a number; their last two columns are symbols and titles. */
const rulesIn = ({ path: file, text }: Source): readonly Rule[] =>
  text.split('\n').flatMap((line) => {
    const number = /^\| (\d+\.\d+) \|/.exec(line)?.[1];
    const cells = line.split(/(?<!\\)\|/).slice(1, -1);
    return number === undefined
      ? []
      : { number, path: file, where: spansIn(cells.at(-2) ?? ''), shownBy: spansIn(cells.at(-1) ?? '') };
  });

const declaration =
  /^(?:export )?(?:abstract )?(?:async )?(?:function\*?|const|let|class|interface|type) ([A-Za-z_$][\w$]*)/gm;
const sqlName =
  /\b(?:create (?:or replace )?(?:function|table|view|(?:unique )?index|trigger)|constraint) ([a-z_0-9]+)/gi;

const symbolsIn = ({ path: file, text }: Source): readonly string[] =>
  [...text.matchAll(file.endsWith('.sql') ? sqlName : declaration)].map(([, name = '']) => name);

/** The first string of each call or row of cases, without the escapes of its quotes. */
const titlesIn = ({ text }: Source): readonly string[] =>
  [...text.matchAll(/[([]\s*(?=(['"`])((?:\\.|(?!\1)[^\n\\])*)\1,)/g)].map(([, , title = '']) =>
    title.replace(/\\(['"`\\])/g, '$1').trim(),
  );

const citation = /\((rules?) (\d[^()]*)\)/g;
const numbers = /^\d+\.\d+(?:, \d+\.\d+)*$/;
const lineBreak = /\n\s*(?:\*|\/\/|--)?\s*/g;
const elsewhere = new RegExp(`${'contract|performance'.toUpperCase()}|the specification §`);

const faultsOf = (law: Law): readonly string[] => {
  const known = new Set(law.rules.map(({ number }) => number));
  return [
    ...law.rules.flatMap((rule, at) => ruleFaults(law, rule, at)),
    ...law.sources.flatMap(cited),
    ...strayed(law),
  ];

  function cited({ path: file, text }: Source): readonly string[] {
    const papers = elsewhere.exec(text)?.[0];
    const wrong = [...text.replace(lineBreak, ' ').matchAll(citation)].flatMap(([whole, word, list = '']) => {
      const each = list.split(', ');
      const isForm = numbers.test(list) && each.length > 1 === (word === 'rules');
      return isForm ? each.filter((number) => !known.has(number)).map((number) => `rule ${number}`) : [whole];
    });
    return (papers === undefined ? wrong : [...wrong, papers]).map((what) => `${file} cites ${what}`);
  }
};

const citedIn = (text: string): readonly string[] =>
  [...text.replace(lineBreak, ' ').matchAll(citation)].flatMap(([, , list = '']) => list.split(', '));

/** Rules that are cited, but in no file with one of their symbols: a reader would not find the expression. */
function strayed({ rules, sources }: Law): readonly string[] {
  const citing = sources
    .filter((source) => isProduct(source.path) || isSql(source.path))
    .map(({ text }) => ({ cites: new Set(citedIn(text)), words: new Set(text.match(/[\w$]+/g)) }));
  return rules.flatMap(({ number, where }) => {
    const files = citing.filter(({ cites }) => cites.has(number));
    return files.length === 0 || files.some(({ words }) => where.some((symbol) => words.has(symbol)))
      ? []
      : [`${number} is cited where none of its symbols is`];
  });
}

function ruleFaults({ rules, symbols, titles }: Law, rule: Rule, at: number): readonly string[] {
  const { number, where, shownBy } = rule;
  const [section = ''] = number.split('.');
  return [
    ...(rules.findIndex((other) => other.number === number) === at ? [] : [`${number} stands twice`]),
    ...(rule.path.startsWith(`docs/rules/${section.padStart(2, '0')}-`)
      ? []
      : [`${number} is in ${rule.path}`]),
    ...(where.length > 0 && shownBy.length > 0 ? [] : [`${number} names no symbol, or no test`]),
    ...where.filter((symbol) => !symbols.has(symbol)).map((symbol) => `${number}: no symbol ${symbol}`),
    ...shownBy.filter((title) => !titles.has(title)).map((title) => `${number}: no test «${title}»`),
  ];
}

const files = filesIn('');
const sources = files.filter((file) => file !== here).map(read);
const isProduct = (file: string): boolean =>
  /\.tsx?$/.test(file) &&
  (!file.includes('/') || productFolders.some((folder) => file.startsWith(`${folder}/`))) &&
  !file.startsWith('tools/simulated-upstream/');
const isSql = (file: string): boolean => /^migrations\/.*\.sql$/.test(file);

const law: Law = {
  rules: sources.filter((source) => source.path.startsWith('docs/rules/')).flatMap(rulesIn),
  symbols: new Set(
    sources.filter((source) => isProduct(source.path) || isSql(source.path)).flatMap(symbolsIn),
  ),
  titles: new Set(sources.filter((source) => /^test\/.*\.ts$/.test(source.path)).flatMap(titlesIn)),
  sources,
};

describe('the rules of docs/rules', () => {
  it('have unique numbers, existing symbols and existing tests, and citations name existing rules', () => {
    expect(faultsOf(law)).toEqual([]);
  });

  it('are all read by the check: every section, the product, the tests and the SQL', () => {
    expect(new Set(law.rules.map(({ path: file }) => file)).size).toBe(54);
    expect(law.rules.length).toBeGreaterThan(600);
    expect(law.symbols.size).toBeGreaterThan(3000);
    expect(law.titles.size).toBeGreaterThan(5000);
    for (const each of ['gateway_settle', 'priceUsage']) expect(law.symbols.has(each)).toBe(true);
    expect(sources.flatMap(({ text }) => text.match(citation) ?? []).length).toBeGreaterThan(50);
  });

  it('have a link to each of their files in docs/rules.md', () => {
    const { text } = read('docs/rules.md');
    for (const file of new Set(law.rules.map((rule) => rule.path)))
      expect(text).toContain(`](${file.slice('docs/'.length)})`);
  });

  const page = (row: string) => rulesIn({ path: 'docs/rules/08-pricing-status.md', text: row });
  const row = (number: string, where: string, shownBy: string): string =>
    `| ${number} | Money is whole. | ${where} | ${shownBy} |`;
  const good = row('8.99', '`priceUsage`', '`is always exact, whatever the counts and the prices`');

  it.each<[string, Partial<Law>, string]>([
    ['a duplicate number', { rules: [...page(good), ...page(good)] }, '8.99 stands twice'],
    [
      'a rule in the file of another section',
      { rules: page(good.replace('8.99', '9.99')) },
      '9.99 is in docs',
    ],
    ['an undeclared symbol', { rules: page(row('8.99', '`noSuch`', '`x`')) }, 'no symbol noSuch'],
    ['a title without a test', { rules: page(row('8.99', '`priceUsage`', '`no such`')) }, '«no such»'],
    ['a rule without a test', { rules: page(row('8.99', '`priceUsage`', 'none')) }, 'no symbol, or no test'],
    [
      'a citation of a missing rule in a list',
      { sources: [{ path: 'a.ts', text: '(rules 8.1, 8.98)' }] },
      'rule 8.98',
    ],
    [
      'a citation of a missing rule across a line break',
      { sources: [{ path: 'a.ts', text: '(rules 8.1,\n * 8.98)' }] },
      'rule 8.98',
    ],
    [
      'a rule cited in a file without its symbols',
      { rules: page(good), sources: [{ path: 'a.ts', text: 'const price = 1; // (rule 8.99)' }] },
      '8.99 is cited where none of its symbols is',
    ],
    ['a range of rules', { sources: [{ path: 'a.ts', text: '(rules 8.1 to 8.4)' }] }, '(rules 8.1 to 8.4)'],
    [
      'a document outside the repository',
      { sources: [{ path: 'a.sql', text: `-- ${'contract'.toUpperCase()} §5` }] },
      'a.sql cites',
    ],
  ])('a planted fault is found: %s', (_, planted, fault) => {
    const faults = faultsOf({ ...law, ...planted });
    expect(faults.filter((each) => each.includes(fault))).not.toEqual([]);
  });

  it('a valid row has no faults, and is parsed into number, symbols and titles', () => {
    expect(faultsOf({ ...law, rules: page(good), sources: [] })).toEqual([]);
    expect(page('| 1.1 | a \\| b | `x`, `y` | ``a `b` `` |')).toMatchObject([
      { number: '1.1', where: ['x', 'y'], shownBy: ['a `b`'] },
    ]);
  });
});
