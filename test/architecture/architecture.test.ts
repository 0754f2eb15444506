import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { circles, circlesOfFolders, sharedNames, unusedExports } from './import-graph.ts';
import { importedBy, rules, type Source, violations } from './import-rules.ts';

const root = path.join(import.meta.dirname, '..', '..');
const folders = ['domain', 'application', 'infrastructure', 'interfaces', 'composition', 'tools'];

const sourcesIn = (folder: string): readonly Source[] =>
  readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    // Generated files are skipped, since they are not edited by hand.
    .filter((file) => /\.(?:m?tsx?|mjs)$/.test(file) && !file.endsWith('.d.ts'))
    .map((file) => read(`${folder}/${file.split(path.sep).join('/')}`));

const read = (file: string): Source => ({ path: file, text: readFileSync(path.join(root, file), 'utf8') });

const atTheRoot = readdirSync(root).filter((file) => file.endsWith('.ts'));
const sources: readonly Source[] = [...folders.flatMap(sourcesIn), ...atTheRoot.map(read)];

/** Exports that only tests import; the comment of each group has the reason why it is not dead code. */
const forTestsAlone: readonly string[] = [
  // Accounting rules that SQL implements; tests compare both.
  'domain/budget/budget-alert.ts#isAlertDue',
  'domain/budget/budget-window.ts#budgetWindow',
  'domain/budget/dry-run.ts#dryRun',
  // The present schema, which a test compares with the database.
  'infrastructure/postgres/migration-files.ts#schemaDump',
  // Tables that tests compare with the documentation, or check row by row.
  'domain/compatibility/unsent-fields.ts#unsentFields',
  'domain/compatibility/upstream-bodies.ts#upstreamBodies',
  'infrastructure/telemetry/label-table.ts#labelTable',
  // A framing for future providers, used by the example of docs/adding-a-provider.md.
  'infrastructure/providers/wire/json-lines.ts#isJsonLines',
  'infrastructure/providers/wire/json-lines.ts#jsonLineFrames',
  // Bounds that are tested just below and just above.
  'domain/chat/observe-chat.ts#maxCallChars',
  'domain/identity/admin-session.ts#lastSeenUpdateMs',
  'domain/identity/admin-session.ts#slidingMs',
  'domain/shared/nearest.ts#maxRankedWords',
  'domain/text/json-in-text.ts#maxKnownMembers',
  'infrastructure/postgres/payload-store.ts#maxQueuedBytes',
  'infrastructure/postgres/purge-store.ts#purgeBatchRows',
  'infrastructure/telemetry/instruments.ts#maxPoints',
  // Steps of another export of the same file, tested separately.
  'domain/reports/overview.ts#quantilesOf',
  'domain/reports/report-window.ts#bucketsOf',
  'domain/shared/nearest.ts#editDistance',
  'domain/upstream/upstream-words.ts#upstreamLabels',
  'infrastructure/config/load.ts#parseConfig',
  'infrastructure/embedded-postgres/cluster.ts#explain',
  'infrastructure/journal/journal.ts#isAlive',
  'infrastructure/pricing/bundled.ts#decodeCatalogue',
  'interfaces/http/admin/admin-route.ts#readBody',
  'interfaces/cli/usage.ts#usages',
  'interfaces/http/gates.ts#adminGates',
];

describe('the layers', () => {
  it('import only what their rules allow, and process.env has one reader', () => {
    expect(violations(sources)).toEqual([]);
  });

  it('are all covered: the check reads at least ten files of every folder', () => {
    for (const folder of folders)
      expect(sources.filter((source) => source.path.startsWith(`${folder}/`)).length).toBeGreaterThanOrEqual(
        10,
      );
    expect(sources.length).toBeGreaterThanOrEqual(120);
  });

  it('have at least one file for each rule', () => {
    for (const rule of rules) expect(sources.some((source) => rule.of.test(source.path))).toBe(true);
  });

  it.each([
    [
      'domain → infrastructure',
      'domain/money/money.ts',
      `import { openPool } from '../../infrastructure/postgres/pool.ts';`,
    ],
    [
      'domain → application',
      'domain/money/money.ts',
      `import type { Clock } from '../../application/ports/clock.ts';`,
    ],
    ['domain → node', 'domain/money/money.ts', `import { hash } from 'node:crypto';`],
    ['domain → a package', 'domain/money/money.ts', `import * as t from 'io-ts';`],
    ['domain → all of fp-ts', 'domain/money/money.ts', `import { either } from 'fp-ts';`],
    ['domain → clock', 'domain/money/money.ts', 'export const now = () => Date.now();'],
    ['domain → environment', 'domain/money/money.ts', 'export const home = () => process.env.HOME;'],
    [
      'application → infrastructure',
      'application/list-models.ts',
      `export { row } from '../infrastructure/postgres/pool.ts';`,
    ],
    ['application → node', 'application/list-models.ts', `const fs = await import('node:fs');`],
    ['application → io-ts', 'application/list-models.ts', `import * as t from 'io-ts';`],
    [
      'infrastructure → interfaces',
      'infrastructure/clock.ts',
      `import { header } from '../interfaces/http/request-context.ts';`,
    ],
    [
      'infrastructure → a use case',
      'infrastructure/clock.ts',
      `import { serveModelRequest } from '../application/serve-model-request.ts';`,
    ],
    [
      'interfaces → infrastructure',
      'interfaces/http/app.ts',
      `import { openPool } from '../../infrastructure/postgres/pool.ts';`,
    ],
    ['interfaces → slonik', 'interfaces/http/app.ts', `import { sql } from 'slonik';`],
    ['undici outside the executor', 'infrastructure/providers/registry.ts', `import { Pool } from 'undici';`],
    ['slonik outside postgres', 'infrastructure/config/load.ts', `import { sql } from 'slonik';`],
    ['koa outside http', 'interfaces/cli/keys.ts', `import Koa from 'koa';`],
    ['inversify outside the container', 'composition/serve.ts', `import { Container } from 'inversify';`],
    [
      'wire → a provider',
      'infrastructure/providers/wire/sse.ts',
      `import { compat } from '../compat/index.ts';`,
    ],
    [
      'a new provider → another provider',
      'infrastructure/providers/newcomer/index.ts',
      `import { generationConfig } from '../cloud-a/generate-content-config.ts';`,
    ],
    [
      'a new provider → the database',
      'infrastructure/providers/newcomer/index.ts',
      `import { ledgerStore } from '../../postgres/ledger-store.ts';`,
    ],
    [
      'a provider → another provider',
      'infrastructure/providers/cloud-a/index.ts',
      `import { compat } from '../compat/index.ts';`,
    ],
    [
      'a new folder of infrastructure → the database',
      'infrastructure/newroom/rows.ts',
      `import { ledgerStore } from '../postgres/ledger-store.ts';`,
    ],
    [
      'pricing → the journal',
      'infrastructure/pricing/import.ts',
      `import { localJournal } from '../journal/journal.ts';`,
    ],
    ['process.env elsewhere', 'composition/serve.ts', 'const url = process.env.DATABASE_URL;'],
    ['a file in an unknown folder', 'helpers/strings.ts', 'export const a = 1;'],
  ])('a planted violation is reported: %s', (_name, at, text) => {
    expect(violations([{ path: at, text }])).toHaveLength(1);
  });
});

describe('imports', () => {
  it('have no cycles', () => {
    expect(circles(sources)).toEqual([]);
  });

  it.each([
    [
      'two files',
      [
        { path: 'domain/a.ts', text: `import type { B } from './b.ts';` },
        { path: 'domain/b.ts', text: `import { a } from './a.ts';` },
      ],
      [['domain/a.ts', 'domain/b.ts']],
    ],
    [
      'three files over folders',
      [
        { path: 'domain/a.ts', text: `import { b } from './x/b.ts';` },
        { path: 'domain/x/b.ts', text: `import { c } from '../y/c.ts';` },
        { path: 'domain/y/c.ts', text: `export type { A } from '../a.ts';` },
        { path: 'domain/d.ts', text: `import { a } from './a.ts';` },
      ],
      [['domain/a.ts', 'domain/x/b.ts', 'domain/y/c.ts']],
    ],
  ])('a planted cycle is found: %s', (_name, planted, found) => {
    expect(circles(planted)).toEqual(found);
  });

  it('have no cycles among the folders of the domain', () => {
    expect(circlesOfFolders(sources, 'domain/')).toEqual([]);
  });

  it('a planted cycle of folders is found, although no file is in it', () => {
    const planted = [
      { path: 'domain/x/a.ts', text: `import { b } from '../y/b.ts';` },
      { path: 'domain/x/c.ts', text: `import { a } from './a.ts';` },
      { path: 'domain/y/b.ts', text: '' },
      { path: 'domain/y/d.ts', text: `import type { E } from '../z/e.ts';` },
      { path: 'domain/z/e.ts', text: `import { c } from '../x/c.ts';` },
      { path: 'domain/w/f.ts', text: `import { a } from '../x/a.ts';` },
    ];
    expect(circles(planted)).toEqual([]);
    expect(circlesOfFolders(planted, 'domain/')).toEqual([['domain/x', 'domain/y', 'domain/z']]);
  });
});

describe('a name', () => {
  it('is exported by only one file of the service, and by only one file of the admin page', () => {
    const isPage = ({ path: file }: Source): boolean => file.startsWith('interfaces/admin-page/');
    const service = sources.filter((source) => !isPage(source) && !source.path.startsWith('tools/'));
    expect(sharedNames(service)).toEqual([]);
    // The admin page is a separate program; each file in `pages` exports a `Page`.
    const page = sources.filter((source) => isPage(source) && !source.path.includes('/src/pages/'));
    expect(sharedNames(page)).toEqual([]);
  });

  it.each([
    ['reported for two files', ['domain/a.ts', 'domain/b.ts'], ['Lease: domain/a.ts, domain/b.ts']],
    [
      'reported for a provider and another file',
      ['domain/a.ts', 'infrastructure/providers/x/a.ts'],
      ['Lease: domain/a.ts, infrastructure/providers/x/a.ts'],
    ],
    [
      'reported for two files of one provider',
      ['infrastructure/providers/x/a.ts', 'infrastructure/providers/x/b.ts'],
      ['Lease: infrastructure/providers/x/a.ts, infrastructure/providers/x/b.ts'],
    ],
    [
      'allowed for one file of each provider',
      ['infrastructure/providers/x/a.ts', 'infrastructure/providers/y/a.ts'],
      [],
    ],
    ['allowed for overloads in one file', ['domain/a.ts', 'domain/a.ts'], []],
  ])('is %s', (_, paths, found) => {
    const planted = paths.map((file) => ({ path: file, text: 'export interface Lease {}\n' }));
    expect(sharedNames(planted)).toEqual(found);
  });
});

describe('an export', () => {
  it('is imported by the product, or is on the list of exports for tests only', () => {
    expect(unusedExports(sources).toSorted()).toEqual(forTestsAlone.toSorted());
  });

  it('of a test or a benchmark is imported by another', () => {
    expect(unusedExports(['bench', 'test'].flatMap(sourcesIn))).toEqual([]);
  });

  it.each([
    ['a function that is not imported', 'export function lost(): void {}', 'lost'],
    ['a constant used only in its own file', 'export const lost = 1;\nconst twice = lost * 2;', 'lost'],
    ['a type that is not used', 'export interface Lost {}', 'Lost'],
  ])('without an import is reported: %s', (_name, text, name) => {
    expect(unusedExports([{ path: 'domain/a.ts', text }])).toEqual([`domain/a.ts#${name}`]);
  });

  it.each([
    ['by its name', `import { type Other, kept } from './a.ts';`],
    ['under another name', `import { kept as mine } from './a.ts';`],
    ['through an import of its module', `const all = await import('./a.ts');`],
    ['through a re-export', `export { kept } from './a.ts';`],
  ])('is not reported if it is used %s', (_name, text) => {
    const sourcesWith = [
      { path: 'domain/a.ts', text: 'export const kept = 1;' },
      { path: 'domain/b.ts', text },
    ];
    expect(unusedExports(sourcesWith)).toEqual([]);
  });
});

describe('the dependencies', () => {
  it('are all imported by the product, or are peer dependencies of a package', () => {
    const { dependencies } = JSON.parse(read('package.json').text) as { readonly dependencies: object };
    const { packages } = JSON.parse(read('package-lock.json').text) as {
      readonly packages: Readonly<
        Record<string, { readonly dev?: true; readonly peerDependencies?: object }>
      >;
    };
    const peers = Object.values(packages).flatMap(({ dev, peerDependencies }) =>
      dev === true ? [] : Object.keys(peerDependencies ?? {}),
    );
    const imported = [...sources.flatMap(({ text }) => importedBy(text)), ...peers];
    const unused = Object.keys(dependencies).filter(
      (name) => !imported.some((each) => each === name || each.startsWith(`${name}/`)),
    );
    expect(unused).toEqual([]);
  });
});

describe('the source tree', () => {
  it('has no barrels, no default exports and no files named after their kind', () => {
    for (const { path: file, text } of sources) {
      expect([file, /^export default /m.test(text)]).toEqual([file, false]);
      expect(file).not.toMatch(/(?:^|\/)(?:utils?|helpers?|common|types|constants)\.ts$/);
      if (file.endsWith('/index.ts')) expect(file).toMatch(/^infrastructure\/providers\/[^/]+\/index\.ts$/);
    }
  });
});
