import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';

const sources = path.join(import.meta.dirname, '..', '..', 'interfaces', 'admin-page', 'src');

const changes = /\b(POST|PUT|PATCH|DELETE)\(\s*['`]([^'`]+)['`]/g;
const rootConstant = /const root = '([^']+)'/;

/** The call with `{owner}` for the kind and id of the owner of a budget or a limit. */
const ofAnyOwner = (call: string): string =>
  call.replace(/\/(budgets|rate-limits)\/[a-z-]+\/\{\w+\}/, '/$1/{owner}');

/** Every call with which the page changes something, as in its sources: `POST /api/v1/admin/teams`. */
export async function callsOfPage(): Promise<readonly string[]> {
  const files = await readdir(sources, { recursive: true });
  const found = await Promise.all(
    files
      .filter((file) => /\.tsx?$/.test(file) && !file.endsWith('.d.ts'))
      .map(async (file) => {
        const text = await readFile(path.join(sources, file), 'utf8');
        const [, root = ''] = rootConstant.exec(text) ?? [];
        return [...text.matchAll(changes)].map(([, method = '', called = '']) =>
          ofAnyOwner(`${method} ${called.replace('${root}', root)}`),
        );
      }),
  );
  return [...new Set(found.flat())].toSorted();
}

/** Whether a request matches this call. */
export function isCall(call: string, method: string, url: string): boolean {
  const [wanted = '', template = ''] = call.split(' ');
  const pattern = template.replace('{owner}', '[a-z-]+/{id}').replaceAll(/\{\w+\}/g, '[^/]+');
  return method === wanted && new RegExp(`^${pattern}$`).test(new URL(url).pathname);
}
