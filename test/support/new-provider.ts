import { execFile } from 'node:child_process';
import { cp, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';

const root = path.join(import.meta.dirname, '..', '..');
const example = 'test/support/example-provider';

/** A block of docs/adding-a-provider.md, in its order. */
export type Block =
  | { readonly kind: 'diff'; readonly file: string; readonly hunks: readonly Hunk[] }
  | { readonly kind: 'sh'; readonly command: string }
  | { readonly kind: 'yaml'; readonly text: string };

/** Text that occurs once in the file, and its replacement. */
export interface Hunk {
  readonly before: string;
  readonly after: string;
}

/** The blocks of the page; a block of an unknown language is a mistake in the page. */
export async function pageBlocks(): Promise<readonly Block[]> {
  const page = await readFile(path.join(root, 'docs', 'adding-a-provider.md'), 'utf8');
  return [...page.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language = '', text = '']) => {
    if (language === 'diff') return diffOf(text);
    if (language === 'sh') return { kind: 'sh', command: text };
    if (language === 'yaml') return { kind: 'yaml', text };
    throw new Error(`A block of \`${language}\` cannot be followed.`);
  });
}

function diffOf(text: string): Block {
  const [head = '', ...lines] = text.trimEnd().split('\n');
  if (!head.startsWith('--- ')) throw new Error(`A diff names its file first: ${head}`);
  const hunks = `\n${lines.join('\n')}`.split(/\n@@(?=\n)/).map((hunk) => {
    const [, ...changed] = hunk.split('\n');
    return { before: linesBut('+', changed), after: linesBut('-', changed) };
  });
  return { kind: 'diff', file: head.slice('--- '.length), hunks };
}

const linesBut = (mark: '+' | '-', lines: readonly string[]): string =>
  lines
    .filter((line) => !line.startsWith(mark))
    .map((line) => line.slice(1))
    .join('\n');

/** Copies the product to a folder, with the example that the page takes from the tests. */
export async function copyProduct(folder: string): Promise<void> {
  const left = ['node_modules', 'test', 'bench', 'deploy', 'dist-docs'];
  for (const name of await readdir(root))
    if (!name.startsWith('.') && !left.includes(name))
      await cp(path.join(root, name), path.join(folder, name), { recursive: true });
  await cp(path.join(root, example), path.join(folder, example), { recursive: true });
  await symlink(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
}

/** Carries out the block; a configuration is used later. */
export async function follow(block: Block, folder: string): Promise<void> {
  if (block.kind === 'sh') {
    const { failed, printed } = await ended('sh', ['-ec', block.command], folder);
    if (failed) throw new Error(`${block.command}${printed}`);
  }
  if (block.kind !== 'diff') return;
  const file = path.join(folder, block.file);
  let text = await readFile(file, 'utf8');
  for (const { before, after } of block.hunks) {
    if (text.split(before).length !== 2)
      throw new Error(`${block.file} has this not exactly once:\n${before}`);
    text = text.replace(before, () => after);
  }
  await writeFile(file, text);
}

/** Restores a file to its version in the product. */
export const restore = (file: string, folder: string): Promise<void> =>
  cp(path.join(root, file), path.join(folder, file));

/** The files in which the compiler finds errors, sorted by name. */
export async function filesThatDoNotCompile(folder: string): Promise<readonly string[]> {
  const compiler = path.join(root, 'node_modules', '.bin', 'tsc');
  const args = ['-p', 'tsconfig.json', '--incremental', '--tsBuildInfoFile', 'types.tsbuildinfo'];
  const { printed } = await ended(compiler, args, folder);
  const files = [...printed.matchAll(/^([^\s(]+)\(\d+,\d+\): error/gm)].map(([, file]) => file ?? '');
  return [...new Set(files)].sort();
}

/** Runs a command in the folder until it ends. */
export const ended = (
  command: string,
  args: readonly string[],
  cwd: string,
): Promise<{ readonly failed: boolean; readonly printed: string }> =>
  new Promise((resolve) => {
    execFile(command, [...args], { cwd }, (error, stdout, stderr) =>
      resolve({ failed: error !== null, printed: stdout + stderr }),
    );
  });
