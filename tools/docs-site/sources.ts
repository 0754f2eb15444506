import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { outlineOf, type Outline } from './markdown.ts';

/** The pages outside of `docs`. */
const atTheRoot = [
  'README.md',
  'ARCHITECTURE.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'STYLE.md',
  'test/samples/README.md',
];

/** The page that defines the order and the headings of the navigation. */
export const indexPage = 'docs/README.md';

/** A page of the documentation. */
export interface SourcePage extends Outline {
  /** The path from the root of the repository, with slashes. */
  readonly file: string;
  readonly text: string;
}

/** Every page, those of the root first. */
export function sourcePages(root: string): readonly SourcePage[] {
  const below = readdirSync(path.join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file.split(path.sep).join('/')}`)
    .toSorted();
  return [...atTheRoot, ...below].map((file) => {
    const text = readFileSync(path.join(root, file), 'utf8');
    return { file, text, ...outlineOf(text) };
  });
}

/** Where a link of a page leads. */
export type Target =
  | { readonly kind: 'elsewhere' }
  | { readonly kind: 'page'; readonly file: string; readonly anchor: string | undefined }
  | { readonly kind: 'file' | 'folder'; readonly file: string }
  | { readonly kind: 'nowhere'; readonly why: string };

/** The target of a link, resolved against the existing pages and files. */
export function targetOf(root: string, pages: readonly SourcePage[], from: string, link: string): Target {
  if (/^[a-z][a-z0-9+.-]*:/i.test(link)) return { kind: 'elsewhere' };
  const [name = '', anchor] = link.split('#', 2);
  const file = name === '' ? from : path.posix.normalize(path.posix.join(path.posix.dirname(from), name));
  const page = pages.find((each) => each.file === file);
  if (page !== undefined) {
    const isThere = anchor === undefined || page.headings.some(({ slug }) => slug === anchor);
    return isThere ? { kind: 'page', file, anchor } : { kind: 'nowhere', why: `${file} has no #${anchor}` };
  }
  const at = path.join(root, file);
  if (file.startsWith('..') || !existsSync(at)) return { kind: 'nowhere', why: `there is no ${file}` };
  if (anchor !== undefined) return { kind: 'nowhere', why: `${file} is no page, and has no #${anchor}` };
  return { kind: statSync(at).isDirectory() ? 'folder' : 'file', file: file.replace(/\/$/, '') };
}

/** A section of the navigation. */
export interface Section {
  readonly title: string;
  /** The files of its pages, in the order of the index. */
  readonly files: readonly string[];
}

/** The navigation: the pages that the index links to below each of its headings. */
export function sectionsOf(root: string, pages: readonly SourcePage[]): readonly Section[] {
  const index = pages.find(({ file }) => file === indexPage);
  if (index === undefined) throw new Error(`There is no ${indexPage}.`);
  return index.text
    .split(/^(?=## )/m)
    .slice(1)
    .map((text) => {
      const { headings, links } = outlineOf(text);
      const targets = links.map((link) => targetOf(root, pages, indexPage, link));
      const files = targets.flatMap((target) => (target.kind === 'page' ? [target.file] : []));
      return { title: headings[0]?.text ?? '', files: [...new Set(files)] };
    })
    .filter(({ files }) => files.length > 0);
}
