import { readFileSync } from 'node:fs';
import path from 'node:path';
import { unsentFields } from '../../../domain/compatibility/unsent-fields.ts';
import type { UnsentFields } from '../../../domain/compatibility/upstream-bodies.ts';
import type { FieldFamily } from './families.ts';

export const fieldsFile = path.join(import.meta.dirname, '../../../docs/fields.md');

/** The heading of each family's table on the page. */
const headings = {
  chat_completions: 'Chat completions',
  messages: 'Messages',
  responses: 'Responses',
  embeddings: 'Embeddings',
} as const satisfies Record<FieldFamily, string>;

const quoted = (words: readonly string[]): string => words.map((word) => `\`${word}\``).join(', ');

const row = ({ fields, in: bodies, because }: UnsentFields): string =>
  `| ${quoted(fields)} | ${quoted(bodies)} | ${because} |\n`;

/** `docs/fields.md` with its tables generated from the list; the rest of the page is written by hand. */
export function fieldsPage(): string {
  let page = readFileSync(fieldsFile, 'utf8');
  for (const [family, heading] of Object.entries(headings)) {
    const rows = unsentFields.filter((each) => each.family === family).map(row);
    const table = new RegExp(`(\n## ${heading}\n\n\\| Left out .*\n\\|---.*\n)(?:\\|.*\n)*`);
    if (!table.test(page)) throw new Error(`docs/fields.md has no table under "${heading}"`);
    page = page.replace(table, (_, head: string) => head + rows.join(''));
  }
  return page;
}
