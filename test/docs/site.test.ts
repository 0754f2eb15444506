import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import axe from 'axe-core';
import type { Browser } from 'playwright-core';
import { htmlOf } from '../../tools/docs-site/markdown.ts';
import { writeSite } from '../../tools/docs-site/site.ts';
import { indexPage, sectionsOf } from '../../tools/docs-site/sources.ts';
import { launchBrowser } from '../support/browser.ts';
import { makeTestFolder } from '../support/test-server.ts';
import { pages as sources, root } from './pages.ts';

let out: string;
let files: readonly { readonly at: string; readonly html: string }[];
beforeAll(async () => {
  out = path.join(await makeTestFolder('site'), 'out');
  await writeSite(root, out);
  files = readdirSync(out, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.html'))
    .map((file) => ({ at: file, html: readFileSync(path.join(out, file), 'utf8') }));
});

describe('the documentation site', () => {
  it('has every page with exactly one h1, and a start page that links to the index', () => {
    for (const { file, headings } of sources) {
      const html = readFileSync(path.join(out, file.replace(/\.md$/, '.html')), 'utf8');
      expect(html).toContain('<html lang="en">');
      expect([file, html.match(/<h1[ >]/g)?.length, headings[0]?.depth]).toEqual([file, 1, 1]);
    }
    expect(readFileSync(path.join(out, 'index.html'), 'utf8')).toContain('docs/README.html');
  });

  it('replaces only a site: a folder with other files stays as it is', async () => {
    const other = await makeTestFolder('no-site');
    writeFileSync(path.join(other, 'index.html'), '');
    writeFileSync(path.join(other, 'notes.md'), 'mine');
    await expect(writeSite(root, other)).rejects.toThrow(`${other} holds something else than a site`);
    expect(readdirSync(other)).toEqual(['index.html', 'notes.md']);
    await expect(writeSite(root, out)).resolves.toBeUndefined();
  });

  it('has only links to its existing files and anchors, or to web and mail addresses', () => {
    const dead = files.flatMap(({ at, html }) =>
      [...html.matchAll(/(?:href|src)="([^"]*)"/g)].flatMap(([, link = '']) => {
        if (/^(?:https?|mailto):/.test(link)) return [];
        const [name = '', anchor] = link.split('#');
        const file = name === '' ? path.join(out, at) : path.join(out, path.dirname(at), name);
        if (!existsSync(file) || !statSync(file).isFile()) return [`${at} → ${link}`];
        const isThere =
          anchor === undefined || readFileSync(file, 'utf8').includes(`id="${decodeURIComponent(anchor)}"`);
        return isThere ? [] : [`${at} → ${link}`];
      }),
    );
    expect(dead).toEqual([]);
    expect(files.length).toBeGreaterThan(sources.length);
  });

  it('loads nothing from other hosts: no script, frame, font, style or image', () => {
    for (const { at, html } of files) {
      expect([
        at,
        /<script|<iframe|<object|@import|<(?:img|link)[^>]*="(?:https?:)?\/\//i.exec(html),
      ]).toEqual([at, null]);
    }
    expect(readFileSync(path.join(out, 'style.css'), 'utf8')).not.toMatch(/url\(|@import|@font-face/);
  });

  it('has the navigation of the index on docs/budgets.html, with that page marked as current', () => {
    const named = sectionsOf(root, sources).flatMap(({ files: each }) => each);
    expect(named.length).toBeGreaterThan(30);
    const html = files.find(({ at }) => at === 'docs/budgets.html')?.html ?? '';
    const nav = /<nav[\s\S]*<\/nav>/.exec(html)?.[0] ?? '';
    expect([...nav.matchAll(/<li><a /g)]).toHaveLength(named.length);
    expect(nav).toContain('<a href="budgets.html" aria-current="page">');
  });

  it('fails to build if a link cannot be resolved', async () => {
    await expect(writeSite(path.join(out, 'docs'), path.join(out, 'again'))).rejects.toThrow();
    expect(() =>
      htmlOf('[a](b)', () => {
        throw new Error('nowhere');
      }),
    ).toThrow('nowhere');
  });
});

describe('the documentation site in a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser?.close());

  it.each([
    ['light', indexPage, 1200],
    ['dark', 'docs/configuration.md', 1200],
    ['dark', 'docs/auditing.md', 360],
  ] as const)('has no axe violation or overflow: %s, %s, %d px wide', async (colorScheme, file, width) => {
    const page = await browser.newPage({ colorScheme, viewport: { width, height: 800 } });
    await page.goto(pathToFileURL(path.join(out, file.replace(/\.md$/, '.html'))).href);
    await page.evaluate(axe.source);
    const found = await page.evaluate<{ violations: { id: string; nodes: unknown[] }[] }>('axe.run()');
    expect(found.violations.map(({ id, nodes }) => [id, nodes.length])).toEqual([]);
    // Nothing but tables and code is wider than the window.
    expect(await page.evaluate('document.documentElement.scrollWidth <= window.innerWidth')).toBe(true);
    await page.close();
  });
});
