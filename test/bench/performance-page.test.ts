import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { Results } from '../../bench/results.ts';
import { scenarios } from '../../bench/scenarios.ts';
import { withTables } from '../../bench/tables.ts';

const root = path.join(import.meta.dirname, '..', '..');
const pageText = (): Promise<string> => readFile(path.join(root, 'docs', 'performance.md'), 'utf8');

describe('docs/performance.md', () => {
  it('has the figures of bench/results.json (else: npm run bench:docs)', async () => {
    const results: Results = JSON.parse(await readFile(path.join(root, 'bench', 'results.json'), 'utf8'));
    const page = await pageText();
    expect(withTables(page, results)).toBe(page);
  });

  it('has one place for the table of each scenario, for memory and for the conditions', async () => {
    const named = [...(await pageText()).matchAll(/<!-- bench: ([\w-]+) -->/g)].map(([, name]) => name);
    const wanted = ['conditions', 'memory', ...scenarios.map(({ name }) => name)];
    expect(new Set(named)).toEqual(new Set(wanted));
    expect(named).toHaveLength(wanted.length);
  });
});
