import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { importedBy, rules, type Source, violations } from './import-rules.ts';

const root = path.join(import.meta.dirname, '..', '..');
const folders = ['domain', 'application', 'infrastructure', 'interfaces'];

const sourcesIn = (folder: string): readonly Source[] =>
  readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.m?tsx?$/.test(file))
    .map((file) => read(`${folder}/${file.split(path.sep).join('/')}`));

const read = (file: string): Source => ({ path: file, text: readFileSync(path.join(root, file), 'utf8') });

const atTheRoot = readdirSync(root).filter((file) => file.endsWith('.ts'));
const sources: readonly Source[] = [...folders.flatMap(sourcesIn), ...atTheRoot.map(read)];

describe('the layers', () => {
  it('keep to their imports, and process.env has one reader', () => {
    expect(violations(sources)).toEqual([]);
  });

  it('were all seen: the check read files of every folder', () => {
    for (const folder of folders)
      expect(sources.filter((source) => source.path.startsWith(`${folder}/`)).length).toBeGreaterThanOrEqual(
        10,
      );
    expect(sources.length).toBeGreaterThanOrEqual(120);
  });

  it('have a rule for each file, and a file for each rule', () => {
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
    ['inversify outside the container', 'serve.ts', `import { Container } from 'inversify';`],
    [
      'wire → a provider',
      'infrastructure/providers/wire/sse.ts',
      `import { compat } from '../compat/index.ts';`,
    ],
    ['process.env elsewhere', 'serve.ts', 'const url = process.env.DATABASE_URL;'],
    ['a file in a new place', 'helpers/strings.ts', 'export const a = 1;'],
  ])('a planted bad import is refused: %s', (_name, at, text) => {
    expect(violations([{ path: at, text }])).toHaveLength(1);
  });
});

describe('the dependencies', () => {
  it('are all imported by the service, or by a package that wants them beside it', () => {
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

describe('the tree', () => {
  it('has no barrels, no default exports and no files named for their kind', () => {
    for (const { path: file, text } of sources) {
      expect([file, /^export default /m.test(text)]).toEqual([file, false]);
      expect(file).not.toMatch(/(?:^|\/)(?:utils?|helpers?|common|types|constants)\.ts$/);
      if (file.endsWith('/index.ts')) expect(file).toMatch(/^infrastructure\/providers\/[^/]+\/index\.ts$/);
    }
  });
});
