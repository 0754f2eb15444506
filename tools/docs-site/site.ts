import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { escaped, htmlOf } from './markdown.ts';
import { indexPage, type Section, type SourcePage, sectionsOf, sourcePages, targetOf } from './sources.ts';

const styles = path.join(import.meta.dirname, 'style.css');
const isImage = (file: string): boolean => /\.(?:png|svg|jpe?g|webp)$/.test(file);

/**
 * The place of a source in the site: a page becomes HTML, a linked file too unless it is an image, and a folder becomes
 * a list.
 */
function placeOf(file: string, kind: 'page' | 'file' | 'folder'): string {
  if (kind === 'page') return file.replace(/\.md$/, '.html');
  if (kind === 'folder') return `${file}/index.html`;
  return isImage(file) ? file : `${file}.html`;
}

/** Whether writing there destroys nothing: the folder is missing, empty, or a site that was written before. */
function isReplaceable(out: string): boolean {
  const names = existsSync(out) ? readdirSync(out) : [];
  return names.length === 0 || (names.includes('index.html') && names.includes('style.css'));
}

/**
 * Writes the documentation as a site into the folder `out`, in place of what is there: pages at the paths of their
 * sources, with the files that they link to. The site needs no server, no scripts and nothing from elsewhere. Throws on
 * a broken link, and where `out` holds something else than a site.
 */
export async function writeSite(root: string, out: string): Promise<void> {
  if (!isReplaceable(out)) throw new Error(`${out} holds something else than a site: name another folder.`);
  const pages = sourcePages(root);
  const sections = sectionsOf(root, pages);
  const more = new Map<string, 'file' | 'folder'>();
  await rm(out, { recursive: true, force: true });
  const write = async (file: string, text: string): Promise<void> => {
    await mkdir(path.dirname(path.join(out, file)), { recursive: true });
    await writeFile(path.join(out, file), text);
  };
  const framed = (at: string, title: string, body: string, source?: string): string =>
    frame({ at, title, body, source, sections, pages });

  for (const page of pages) {
    const at = placeOf(page.file, 'page');
    const body = htmlOf(page.text, (link) => {
      const target = targetOf(root, pages, page.file, link);
      if (target.kind === 'elsewhere') return link;
      if (target.kind === 'nowhere') throw new Error(`${page.file} links to ${link}: ${target.why}`);
      if (target.kind !== 'page') more.set(target.file, target.kind);
      const anchor = target.kind === 'page' && target.anchor !== undefined ? `#${target.anchor}` : '';
      return `${relative(at, placeOf(target.file, target.kind))}${anchor}`;
    });
    await write(at, framed(at, titleOf(page), body, page.file));
  }
  for (const [file, kind] of more) {
    const at = placeOf(file, kind);
    if (kind === 'folder') await write(at, framed(at, file, folderBody(root, file, pages)));
    else if (isImage(file)) await cp(path.join(root, file), path.join(out, file), { recursive: true });
    else await write(at, framed(at, file, fileBody(file, await readFile(path.join(root, file), 'utf8'))));
  }
  await write('style.css', await readFile(styles, 'utf8'));
  await write('index.html', leadTo(placeOf(indexPage, 'page')));
}

const titleOf = ({ file, headings }: SourcePage): string => headings[0]?.text ?? file;

const relative = (from: string, to: string): string => path.posix.relative(path.posix.dirname(from), to);

const fileBody = (file: string, text: string): string =>
  `<h1>${escaped(file)}</h1>\n<pre tabindex="0"><code>${escaped(text)}</code></pre>\n`;

function folderBody(root: string, folder: string, pages: readonly SourcePage[]): string {
  const names = readdirSync(path.join(root, folder)).toSorted();
  const items = names.map((name) => {
    const page = pages.find(({ file }) => file === `${folder}/${name}`);
    return page === undefined
      ? `<li>${escaped(name)}</li>`
      : `<li><a href="${name.replace(/\.md$/, '.html')}">${escaped(titleOf(page))}</a></li>`;
  });
  return `<h1>${escaped(folder)}</h1>\n<ul>\n${items.join('\n')}\n</ul>\n`;
}

interface Framed {
  readonly at: string;
  readonly title: string;
  readonly body: string;
  readonly source: string | undefined;
  readonly sections: readonly Section[];
  readonly pages: readonly SourcePage[];
}

/** A page followed by the navigation, which wide windows show at its side. */
function frame({ at, title, body, source, sections, pages }: Framed): string {
  const toRoot = relative(at, '.') || '.';
  const item = (file: string): string => {
    const page = pages.find((each) => each.file === file);
    const here = file === source ? ' aria-current="page"' : '';
    const name = escaped(page === undefined ? file : titleOf(page));
    return `<li><a href="${relative(at, placeOf(file, 'page'))}"${here}>${name}</a></li>`;
  };
  const groups = sections.map(
    ({ title: name, files }) => `<p>${escaped(name)}</p>\n<ul>\n${files.map(item).join('\n')}\n</ul>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)} – Model Gateway</title>
<link rel="stylesheet" href="${toRoot}/style.css">
</head>
<body>
<header><a href="${relative(at, placeOf(indexPage, 'page'))}">Model Gateway</a> <a href="#pages">Pages</a></header>
<main>
${body}</main>
<nav id="pages" aria-label="Pages">
${groups.join('\n')}
</nav>
</body>
</html>
`;
}

const leadTo = (place: string): string => `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=${place}"><title>Model Gateway</title></head>
<body><main><h1>Model Gateway</h1><p><a href="${place}">The documentation</a></p></main></body>
</html>
`;
