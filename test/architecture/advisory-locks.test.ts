import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';

const root = path.join(import.meta.dirname, '..', '..');
const textOf = (file: string): string => readFileSync(path.join(root, file), 'utf8');

/** The holder of each lock number: the name of a constant, or the SQL file of the functions that take it. */
const ofConstants = globSync(['infrastructure/**/*.ts', 'application/**/*.ts', 'composition/**/*.ts'], {
  cwd: root,
})
  .flatMap((file) => [...textOf(file).matchAll(/const (\w+Lock) = ([\d_]+);/g)])
  .map(([, name = '', number = '']) => [number.replaceAll('_', ''), name] as const);

const ofFunctions = globSync(['migrations/functions/*.sql', 'migrations/citus/*.sql', 'migrations/0*.sql'], {
  cwd: root,
}).flatMap((file) =>
  [...textOf(file).matchAll(/advisory_(?:xact_)?lock(?:_shared)?\((\d+)\)/g)].map(
    ([, number = '']) => [number, path.basename(file)] as const,
  ),
);

/** Writing records of tool calls and linking them exclude each other. */
const shared = ['gateway_keep_invocations.sql', 'gateway_link_invocations.sql'];

describe('an advisory lock', () => {
  it('has a unique number in sources and migrations, except for one pair that shares its number', () => {
    const all = [...ofConstants, ...ofFunctions];
    const holders = Map.groupBy(all, ([number]) => number);
    const several = [...holders.values()].filter(({ length }) => length > 1);
    expect(several.map((those) => those.map(([, holder]) => holder).sort())).toEqual([shared]);
  });

  it('is found by the check in the sources and in the migrations', () => {
    expect(ofConstants.map(([, name]) => name)).toEqual(expect.arrayContaining(['exportLock', 'ownersLock']));
    expect(ofFunctions.map(([, file]) => file)).toEqual(expect.arrayContaining(shared));
  });
});
