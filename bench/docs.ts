// npm run bench:docs: generates the tables of docs/performance.md from the figures in bench/results.json.
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Results } from './results.ts';
import { withTables } from './tables.ts';

const page = path.join(import.meta.dirname, '..', 'docs', 'performance.md');
const results: Results = JSON.parse(await readFile(path.join(import.meta.dirname, 'results.json'), 'utf8'));
await writeFile(page, withTables(await readFile(page, 'utf8'), results));
