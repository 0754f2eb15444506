import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { importedBy, resolved } from './import-rules.ts';

const root = path.join(import.meta.dirname, '..', '..');
const textOf = (file: string): string => readFileSync(path.join(root, file), 'utf8');
const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Readonly<Record<string, string>> };

/** The files that `npm run …` starts with Node, by the names of their commands. */
const commands = Object.entries(scripts).flatMap(([name, line]) => {
  const file = /^node .*?(\S+\.ts)\b/.exec(line)?.[1];
  return file === undefined ? [] : [[name, file] as const];
});

/** The modules that Node loads for a file: type-only imports are removed before. */
const loadedBy = (text: string): readonly string[] =>
  importedBy(text.replaceAll(/^import type [^;]*;/gm, ''));

/** The package modules that a file loads, directly or not, each with the project file that imports it. */
function reached(from: string): ReadonlyMap<string, string> {
  const packages = new Map<string, string>();
  const seen = new Set([from]);
  for (const file of seen)
    for (const specifier of loadedBy(textOf(file))) {
      if (!specifier.startsWith('.')) packages.set(specifier, file);
      else if (existsSync(path.join(root, resolved(file, specifier)))) seen.add(resolved(file, specifier));
    }
  return packages;
}

describe('a command of package.json', () => {
  it('is found by the check, which finds more than 30', () => {
    expect(commands.length).toBeGreaterThan(30);
  });

  it.each(commands)('%s does not load @jest/globals, which exists only in test runs', (_, file) => {
    expect(reached(file).get('@jest/globals')).toBeUndefined();
  });
});
