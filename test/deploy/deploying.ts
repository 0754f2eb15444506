import { textOf } from './files.ts';

/** A fenced block of docs/deploying.md. */
export interface Block {
  /** The heading above the block. */
  readonly section: string;
  readonly language: string;
  readonly text: string;
}

/** The blocks of docs/deploying.md, in their order. */
export const blocks: readonly Block[] = textOf('docs/deploying.md')
  .split(/^## /m)
  .flatMap((section) =>
    [...section.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = '', text = '']) => ({
      section: section.split('\n')[0] ?? '',
      language,
      text,
    })),
  );

/** The blocks of one section in one language. */
export const blocksOf = (section: string, language: string): readonly string[] =>
  blocks.flatMap((block) => (block.section === section && block.language === language ? [block.text] : []));
