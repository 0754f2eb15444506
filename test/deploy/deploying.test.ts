import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { Ajv } from 'ajv';
import * as E from 'fp-ts/lib/Either.js';
import { parse, stringify } from 'yaml';
import { commands } from '../../composition/commands.ts';
import { isObject, type Json } from '../../domain/shared/json.ts';
import { parseConfig } from '../../infrastructure/config/load.ts';
import { makeTestFolder } from '../support/test-server.ts';
import { blocks, blocksOf } from './deploying.ts';
import { ran, textOf } from './files.ts';

const keyForm = /^gwk_[0-9a-f]{32}\.[0-9a-f]{64}$/;
const secrets = { OPENAI_API_KEY: 'k', FIRST_KEY: `gwk_${'0'.repeat(32)}.${'1'.repeat(64)}` };

/** Runs a block as it is printed, with this Node first on the path. */
const run = (text: string, cwd: string) =>
  ran('sh', ['-ec', `PATH=${path.dirname(process.execPath)}:$PATH\n${text}`], { cwd });

// Commands of the installed tarball are run by `npm run check:tarball`.
describe('docs/deploying.md', () => {
  it('names existing gateway commands only', () => {
    const named = blocks.flatMap(({ text }) =>
      [...text.matchAll(/npx gateway (\S+)/g)].map(([, name]) => name),
    );
    expect(named.length).toBeGreaterThan(4);
    expect(named.filter((name) => name === undefined || !Object.hasOwn(commands, name))).toEqual([]);
  });

  it('shows a valid configuration for the package', () => {
    const [text = ''] = blocksOf('A package', 'yaml');
    expect(parseConfig(text, secrets)).toMatchObject({ _tag: 'Right' });
  });

  it('shows chart values that are valid by the schema, with a valid configuration', () => {
    const values = parse(blocksOf('Kubernetes', 'yaml')[0] ?? '') as Json;
    const defaults = parse(textOf('deploy/helm/model-gateway/values.yaml')) as Json;
    if (!isObject(values) || !isObject(defaults)) throw new Error('the values are no object');
    const schema = JSON.parse(textOf('deploy/helm/model-gateway/values.schema.json')) as object;
    expect(new Ajv({ strictTypes: false }).compile(schema)({ ...defaults, ...values })).toBe(true);
    expect(E.isRight(parseConfig(stringify(values['config']), secrets))).toBe(true);
  });

  it('has a Node command that prints a well-formed key', async () => {
    const line = blocksOf('A package', 'sh').find((text) => text.startsWith('node ')) ?? '';
    const { code, out } = run(line, await makeTestFolder('deploying'));
    expect(code).toBe(0);
    expect(out.trim()).toMatch(keyForm);
  });

  it('has a command that creates exactly the variables that compose requires, each of at least 32 characters', async () => {
    const folder = await makeTestFolder('deploying');
    await mkdir(path.join(folder, 'deploy'));
    expect(run(blocksOf('Compose', 'sh')[0] ?? '', folder)).toEqual({ code: 0, out: '', err: '' });
    const lines = (await readFile(path.join(folder, 'deploy', '.env'), 'utf8')).trim().split('\n');
    const made = Object.fromEntries(lines.map((line) => line.split('=')));
    const asked = [...textOf('deploy/compose.yaml').matchAll(/\$\{(\w+):/g)].map(([, name]) => name ?? '');
    expect(Object.keys(made).toSorted()).toEqual([...new Set(asked)].toSorted());
    expect(made).toMatchObject({ GATEWAY_KEY: expect.stringMatching(keyForm) });
    for (const value of Object.values(made)) expect(String(value).length).toBeGreaterThanOrEqual(32);
  });
});
