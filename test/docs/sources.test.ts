import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { pages, root } from './pages.ts';

const quoted = pages.flatMap(({ file: page, text }) =>
  [...text.matchAll(/^<!-- source: (\S+) -->\n```\w+\n(.*?)^```$/gms)].map(
    ([, file = '', lines = '']) => [page, file, lines] as const,
  ),
);

describe('the quotes of sources in the documentation', () => {
  it('are all found by the check', () => {
    expect(quoted.length).toBeGreaterThan(3);
    const named = pages.flatMap(({ text }) => text.match(/^<!-- source: /gm) ?? []);
    expect(quoted).toHaveLength(named.length);
  });

  it.each(quoted)('are contained verbatim in their source file: %s, %s', (_, file, lines) => {
    expect(readFileSync(path.join(root, file), 'utf8')).toContain(lines);
  });
});
