import path from 'node:path';
import { type SourcePage, sourcePages } from '../../tools/docs-site/sources.ts';

export const root = path.join(import.meta.dirname, '..', '..');

/** Every page that the site has. */
export const pages: readonly SourcePage[] = sourcePages(root);

/** A page by its path from the root. */
export function page(file: string): SourcePage {
  const found = pages.find((each) => each.file === file);
  if (found === undefined) throw new Error(`There is no page ${file}.`);
  return found;
}

/** A fenced block of shell commands; a test runs it in `scene` if that is set. */
export interface Commands {
  readonly scene: string | undefined;
  readonly text: string;
}

/** A block in a list is indented. */
const fence = /(?:^ *<!-- run: (\w+) -->\n)?^( *)```sh\n(.*?)^ *```$/gms;

/** The blocks of a page in their order; `<!-- run: SCENE -->` before a block names its scene. */
export const commandsOf = ({ text }: SourcePage): readonly Commands[] =>
  [...text.matchAll(fence)].map(([, scene, indent = '', commands = '']) => ({
    scene,
    text: commands.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }));

/** The blocks of one scene as one script. */
export const scriptOf = (each: SourcePage, scene: string): string =>
  commandsOf(each)
    .flatMap((block) => (block.scene === scene ? [block.text] : []))
    .join('\n');
