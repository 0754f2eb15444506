import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';

const root = path.join(import.meta.dirname, '..', '..', 'interfaces', 'admin-page', 'src');
const files = readdirSync(root, { recursive: true, encoding: 'utf8' });
const textOf = (pattern: RegExp): string =>
  files
    .filter((file) => pattern.test(file) && !file.endsWith('.d.ts'))
    .map((file) => readFileSync(path.join(root, file), 'utf8'))
    .join('\n');

const wordsOf = (text: string): ReadonlySet<string> => new Set(text.match(/[A-Za-z][\w-]*/g));

const styles = textOf(/\.css$/).replaceAll(/\/\*[\s\S]*?\*\//g, '');
const classes = new Set(
  [...styles.matchAll(/([^{};]+)\{/g)].flatMap(([, selector = '']) =>
    [...selector.matchAll(/\.([A-Za-z][\w-]*)/g)].map(([, name = '']) => name),
  ),
);

describe('the styles of the admin page', () => {
  it('define only classes that the page uses', () => {
    const words = wordsOf(textOf(/\.tsx?$/));
    expect(classes.size).toBeGreaterThan(100);
    expect([...classes].filter((name) => !words.has(name))).toEqual([]);
  });

  it('are all imported by styles.css', () => {
    const named = [...textOf(/^styles\.css$/).matchAll(/"\.\/(styles\/[\w-]+\.css)"/g)].map(
      ([, file]) => file,
    );
    expect(new Set(named)).toEqual(new Set(files.filter((file) => /^styles\/.*\.css$/.test(file))));
  });
});
