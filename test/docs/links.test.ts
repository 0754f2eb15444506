import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { outlineOf } from '../../tools/docs-site/markdown.ts';
import { indexPage, type SourcePage, targetOf } from '../../tools/docs-site/sources.ts';
import { pages, root } from './pages.ts';

const deadLinks = (of: readonly SourcePage[]): readonly string[] =>
  of.flatMap(({ file, links }) =>
    links.flatMap((link) => {
      const target = targetOf(root, [...pages, ...of], file, link);
      return target.kind === 'nowhere' ? [`${file} → ${link}: ${target.why}`] : [];
    }),
  );

/** The pages that are reachable from the index over any number of links and folder listings. */
function reached(): ReadonlySet<string> {
  const seen = new Set([indexPage]);
  for (const file of seen) {
    const page = pages.find((each) => each.file === file);
    for (const link of page?.links ?? []) {
      const target = targetOf(root, pages, file, link);
      if (target.kind === 'page') seen.add(target.file);
      if (target.kind === 'folder')
        for (const each of pages) if (path.posix.dirname(each.file) === target.file) seen.add(each.file);
    }
  }
  return seen;
}

describe('the links of the documentation', () => {
  it('point to existing pages, headings, files and folders', () => {
    expect(deadLinks(pages)).toEqual([]);
  });

  it('are all read by the check: more than 400 on more than 110 pages', () => {
    expect(pages.length).toBeGreaterThan(110);
    expect(pages.flatMap(({ links }) => links).length).toBeGreaterThan(400);
  });

  it('connect the index to every page', () => {
    const there = reached();
    expect(pages.map(({ file }) => file).filter((file) => !there.has(file))).toEqual([]);
  });

  const planted = (text: string): SourcePage => ({ file: 'docs/planted.md', text, ...outlineOf(text) });

  it.each([
    ['a missing page', '[a](no-such.md)', 'there is no docs/no-such.md'],
    ['a missing heading', '[a](budgets.md#no-such)', 'docs/budgets.md has no #no-such'],
    ['a missing heading of the page itself', '# A\n\n[a](#b)', 'docs/planted.md has no #b'],
    ['a file outside of the repository', '[a](../../etc/passwd)', 'there is no ../etc/passwd'],
    ['a line of a file', '[a](../main.ts#L1)', 'main.ts is no page'],
    ['a missing image', '![a](images/no-such.png)', 'there is no docs/images/no-such.png'],
  ])('a planted dead link is reported: %s', (_, text, why) => {
    expect(deadLinks([planted(text)])).toEqual([expect.stringContaining(why)]);
  });

  it('are not read from code spans and code blocks', () => {
    expect(deadLinks([planted('`[a](no-such.md)`\n\n```md\n[a](no-such.md)\n```\n')])).toEqual([]);
  });
});

describe('the anchor of a heading', () => {
  it.each([
    ['## What a *hard* budget does not stop', 'what-a-hard-budget-does-not-stop'],
    ['## The `compat` block & `router`', 'the-compat-block--router'],
    ['## Keys, owners: a-b_c', 'keys-owners-a-b_c'],
    ['## «Ünïcode» 1.2', 'ünïcode-12'],
    ['## [A link](x.md)', 'a-link'],
  ])('is the same as on GitHub: %s', (text, slug) => {
    expect(outlineOf(text).headings).toMatchObject([{ slug }]);
  });

  it('has a number if the page has an earlier heading with the same text', () => {
    expect(outlineOf('# A\n\n## A\n\n## A').headings.map(({ slug }) => slug)).toEqual(['a', 'a-1', 'a-2']);
  });
});
