import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { InlineConfig } from 'vite';

/** The folder of the built page. */
const builtPage = path.join(import.meta.dirname, 'dist');

const stampFile = path.join(builtPage, '.sources');
const root = path.join(import.meta.dirname, '..', '..');

/** Builds the page into `dist`, to be served under `/admin`. */
const terms: InlineConfig = {
  configFile: false,
  logLevel: 'error',
  root: import.meta.dirname,
  base: '/admin/',
  build: {
    outDir: builtPage,
    emptyOutDir: true,
    // Scripts and styles are separate files, because the page's policy allows nothing inline.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2023',
  },
};

/** Builds the page, unless the existing build is of the same sources. */
async function buildPage(): Promise<void> {
  const stamp = await stampOfSources();
  if (existsSync(stampFile) && (await readFile(stampFile, 'utf8')) === stamp) return;
  const { build } = await import('vite');
  await build(terms);
  await compress();
  await writeFile(stampFile, stamp);
}

/** Adds a brotli and a gzip variant of each file, so that the gateway compresses nothing while it serves. */
async function compress(): Promise<void> {
  for (const file of await filesIn(builtPage)) {
    const bytes = await readFile(file);
    await writeFile(`${file}.br`, brotliCompressSync(bytes));
    await writeFile(`${file}.gz`, gzipSync(bytes, { level: 9 }));
  }
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  return found.filter((each) => each.isFile()).map((each) => path.join(each.parentPath, each.name));
}

/** A hash of every source file and of the lock file. The same hash means the same page. */
async function stampOfSources(): Promise<string> {
  const hash = createHash('sha256');
  const sources = await filesIn(path.join(import.meta.dirname, 'src'));
  const others = ['index.html', 'build.ts'].map((name) => path.join(import.meta.dirname, name));
  for (const file of [...sources, ...others, path.join(root, 'package-lock.json')].toSorted())
    hash
      .update(path.relative(root, file))
      .update('\0')
      .update(await readFile(file))
      .update('\0');
  return hash.digest('hex');
}

await buildPage();
