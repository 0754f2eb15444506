import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

export const root = path.join(import.meta.dirname, '..', '..');

/** A page that people read, by its path from the root, with slashes. */
export interface Page {
  readonly path: string;
  readonly text: string;
}

const atTheRoot = [
  'README.md',
  'ARCHITECTURE.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'STYLE.md',
];

export const page = (file: string): Page => ({
  path: file,
  text: readFileSync(path.join(root, file), 'utf8'),
});

/** Every page, those of the root first. */
export const pages: readonly Page[] = [
  ...atTheRoot,
  ...readdirSync(path.join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file.split(path.sep).join('/')}`)
    .toSorted(),
].map(page);

/** A fenced block of shell commands; where `scene` says so, a test runs it there. */
export interface Commands {
  readonly scene: string | undefined;
  readonly text: string;
}

const fence = /(?:^<!-- run: (\w+) -->\n)?^```sh\n(.*?)^```$/gms;

/** The blocks of a page in their order: `<!-- run: SCENE -->` before one names what it runs in. */
export const commandsOf = ({ text }: Page): readonly Commands[] =>
  [...text.matchAll(fence)].map(([, scene, commands = '']) => ({ scene, text: commands }));

/** The blocks of one scene as one script. */
export const scriptOf = (each: Page, scene: string): string =>
  commandsOf(each)
    .flatMap((block) => (block.scene === scene ? [block.text] : []))
    .join('\n');
