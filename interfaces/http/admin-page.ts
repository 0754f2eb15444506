import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { acceptsCoding } from './accepted-coding.ts';
import { header, idHeaders, type RequestContext } from './request-context.ts';

/** A built file with its compressed variants from the build, in order of preference. */
interface PageFile {
  readonly type: string;
  readonly etag: string;
  readonly plain: Buffer;
  readonly coded: readonly { readonly coding: string; readonly bytes: Buffer }[];
}

/** The files by their path under `/admin/`. Empty when the page was not built. */
type PageFiles = ReadonlyMap<string, PageFile>;

/** In order of preference, each with the suffix that the build appends to file names. */
const codings = { br: '.br', gzip: '.gz' } as const;

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

async function readPage(folder: string): Promise<PageFiles> {
  if (!existsSync(folder)) return new Map();
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = new Set(
    found.filter((each) => each.isFile()).map((each) => path.join(each.parentPath, each.name)),
  );
  const files = new Map<string, PageFile>();
  for (const file of paths) {
    const type = types[path.extname(file)];
    if (type === undefined) continue;
    const plain = await readFile(file);
    const coded = [];
    for (const [coding, ending] of Object.entries(codings))
      if (paths.has(file + ending)) coded.push({ coding, bytes: await readFile(file + ending) });
    const etag = `"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`;
    files.set(path.relative(folder, file).split(path.sep).join('/'), { type, etag, plain, coded });
  }
  return files;
}

/**
 * Nothing from other origins, nothing inline, no framing, and no script may turn text into markup. The page gets its
 * data from the admin API of the same origin.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const everyPage = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
} as const;

/**
 * Serves `/admin` and everything below it from the built files in `folder`: an asset, or the page itself, which does
 * its own routing. The page holds no data, so it needs no session. The files, some hundred kilobytes, are read on the
 * first request and cached.
 */
export function adminPage(folder: string): (context: RequestContext, at: string) => Promise<void> {
  let files: Promise<PageFiles> | undefined;
  return async (context, at) => {
    files ??= readPage(folder).catch((error: unknown) => {
      // The build may be running, or there were too many open files. The next request tries again.
      files = undefined;
      throw error;
    });
    const found = await files;
    // A page that is built later is found without a restart.
    if (!found.has('index.html')) files = undefined;
    const asset = at.startsWith('assets/') ? found.get(at) : undefined;
    if (asset !== undefined)
      return sendFile(context, asset, { 'cache-control': 'public, max-age=31536000, immutable' });
    if (at.startsWith('assets/')) return sendText(context, 404, 'There is no such file.');
    const index = found.get('index.html');
    if (index === undefined)
      return sendText(context, 503, 'The admin page is not built: `npm run build:page` builds it.');
    sendFile(context, index, { 'cache-control': 'no-cache', 'content-security-policy': policy });
  };
}

function sendFile(context: RequestContext, file: PageFile, headers: Readonly<Record<string, string>>): void {
  const { req, res } = context;
  const all = {
    ...idHeaders(context),
    ...everyPage,
    ...headers,
    etag: file.etag,
    vary: 'accept-encoding, origin',
  };
  if (header(req, 'if-none-match') === file.etag) {
    res.writeHead(304, all);
    res.end();
    return;
  }
  const accepted = header(req, 'accept-encoding') ?? '';
  const coded = file.coded.find(({ coding }) => acceptsCoding(accepted, coding));
  const body = coded?.bytes ?? file.plain;
  res.writeHead(200, {
    ...all,
    'content-type': file.type,
    'content-length': body.length,
    ...(coded === undefined ? {} : { 'content-encoding': coded.coding }),
  });
  res.end(req.method === 'HEAD' ? undefined : body);
}

function sendText(context: RequestContext, status: number, text: string): void {
  const { res } = context;
  res.writeHead(status, {
    ...idHeaders(context),
    ...everyPage,
    'cache-control': 'no-store',
    'content-type': 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(text),
  });
  res.end(text);
}
