import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';

/** Where the built page lies. */
const builtPage = path.join(import.meta.dirname, 'dist');

const stampFile = path.join(builtPage, '.sources');
const root = path.join(import.meta.dirname, '..', '..');

/** Builds the page, unless what is there was built of the same sources; true: it was built. */
export async function buildPage(): Promise<boolean> {
  const stamp = await stampOfSources();
  if (existsSync(stampFile) && (await readFile(stampFile, 'utf8')) === stamp) return false;
  await bundle();
  await compress();
  await writeFile(stampFile, stamp);
  return true;
}

/** What is built is what is served, also where tests build it: their NODE_ENV would bundle React for development. */
async function bundle(): Promise<void> {
  const { build } = await import('vite');
  const before = process.env['NODE_ENV'];
  process.env['NODE_ENV'] = 'production';
  try {
    await build({ configFile: path.join(import.meta.dirname, 'vite.config.ts'), logLevel: 'error' });
  } finally {
    if (before === undefined) delete process.env['NODE_ENV'];
    else process.env['NODE_ENV'] = before;
  }
}

/** Each file once with brotli and once with gzip beside it: the gateway compresses nothing while it serves. */
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

/** Of every source file and of the packages: what is the same gives the same page. */
async function stampOfSources(): Promise<string> {
  const hash = createHash('sha256');
  const sources = await filesIn(path.join(import.meta.dirname, 'src'));
  const others = ['index.html', 'vite.config.ts'].map((name) => path.join(import.meta.dirname, name));
  for (const file of [...sources, ...others, path.join(root, 'package-lock.json')].toSorted())
    hash
      .update(path.relative(root, file))
      .update('\0')
      .update(await readFile(file))
      .update('\0');
  return hash.digest('hex');
}

if (import.meta.main) await buildPage();
