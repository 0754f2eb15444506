import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { agents } from '../agents/agents.ts';

const root = path.join(import.meta.dirname, '..', '..');
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');
const page = (name: string): string => read(path.join('docs', 'clients', `${name}.md`));
const manifest = JSON.parse(read('package.json')) as { devDependencies: Record<string, string> };

describe('pages about clients', () => {
  it('are exactly those that docs/agents.md links to', () => {
    const named = [...read('docs/agents.md').matchAll(/\(clients\/([a-z0-9-]+\.md)\)/g)].map(
      ([, file]) => file,
    );
    expect(new Set(named)).toEqual(new Set(readdirSync(path.join(root, 'docs', 'clients'))));
  });

  it.each(agents.map(({ name, version }) => [name, version]))(
    '%s: names the tested version in its first line',
    (name, version) => {
      expect(page(name).split('\n', 1)[0]).toContain(version);
    },
  );

  it.each([
    ['openai-sdk', 'openai'],
    ['anthropic-sdk', '@anthropic-ai/sdk'],
    ['anthropic-sdk', 'anthropic-sdk-0'],
    ['langchain', '@langchain/openai'],
    ['langchain', '@langchain/anthropic'],
    ['ai-sdk', 'ai'],
    ['ai-sdk', '@ai-sdk/openai'],
    ['ai-sdk', '@ai-sdk/openai-compatible'],
    ['ai-sdk', '@ai-sdk/anthropic'],
  ])('%s: names the version of %s that the tests run', (name, dependency) => {
    const version = manifest.devDependencies[dependency]?.replace(/^.*@/, '');
    expect(page(name)).toContain(version);
  });
});
