import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { type LoadedConfig, loadConfig } from '../../infrastructure/config/load.ts';
import { resolver } from '../../infrastructure/config/resolver.ts';
import { makeTestFolder } from '../support/test-server.ts';

let folder = '';
beforeAll(async () => {
  folder = await makeTestFolder('secrets');
});

const at = (name: string): string => path.join(folder, name);

async function read(content: object) {
  const file = at('gateway.yaml');
  // JSON is YAML.
  await writeFile(file, JSON.stringify(content));
  return loadConfig(file, { HOST: 'h' });
}

async function loaded(content: object): Promise<LoadedConfig> {
  const result = await read(content);
  if (result._tag === 'Left') throw new Error(JSON.stringify(result.left));
  return result.right;
}

const provider = (token: string, more: object = {}) => ({
  providers: [
    { id: 'p', type: 'compat', base_url: 'http://${HOST}/v1', auth: { mode: 'bearer', token }, ...more },
  ],
});

const problems = async (token: string) => {
  const result = await read(provider(token));
  return result._tag === 'Left' ? result.left.map((each) => [each.path, each.message]) : [];
};
const tokenPath = 'providers[0].auth.token';

describe('a ${file:…} placeholder', () => {
  it.each([
    ['no line end', 'secret-0123456789', 'secret-0123456789'],
    ['a line end', 'secret-0123456789\n', 'secret-0123456789'],
    ['a CRLF line end', 'secret-0123456789\r\n', 'secret-0123456789'],
  ])('becomes the content of the file without its last line end: %s', async (_, content, token) => {
    await writeFile(at('token'), content);
    const { config } = await loaded(provider(`\${file:${at('token')}}`));
    expect(config.providers[0]?.auth).toEqual({ mode: 'bearer', token });
  });

  it('is replaced anywhere in a text, beside variables, and placeholders in the file are not', async () => {
    await writeFile(at('name'), '${HOST}');
    const { config } = await loaded({ teams: [{ id: 't', name: `a \${file:${at('name')}} \${HOST}` }] });
    expect(config.teams[0]?.name).toBe('a ${HOST} h');
  });

  it('is a problem that names key and file if the file is unusable, and never quotes its content', async () => {
    await mkdir(at('folder'));
    await writeFile(at('nothing'), '\n');
    await writeFile(at('binary'), Buffer.from([0x73, 0xff, 0xfe]));
    await writeFile(at('large'), 's'.repeat(65_537));
    await writeFile(at('blank'), 'two words');
    execFileSync('mkfifo', [at('pipe')]);
    const of = async (name: string) => problems(`\${file:${at(name)}}`);
    expect(await of('none')).toEqual([[tokenPath, `the file ${at('none')} cannot be read (ENOENT)`]]);
    expect(await of('folder')).toEqual([[tokenPath, `the file ${at('folder')} is not a file`]]);
    expect(await of('pipe')).toEqual([[tokenPath, `the file ${at('pipe')} is not a file`]]);
    expect(await of('nothing')).toEqual([[tokenPath, `the file ${at('nothing')} is empty`]]);
    expect(await of('binary')).toEqual([[tokenPath, `the file ${at('binary')} is not UTF-8 text`]]);
    expect(await of('large')).toEqual([[tokenPath, `the file ${at('large')} is larger than 64 KiB`]]);
    const [[place, message] = []] = await of('blank');
    expect([place, message?.includes('two')]).toEqual([tokenPath, false]);
  });

  it.each([
    '${file:}',
    '${file:secret}',
    '${a file:/secret}',
    '${file:./secret}',
    '${file:/a\u0001b}',
    '${file:/run/secret',
  ])('is malformed unless it has a valid absolute path: %j', async (token) => {
    expect(await problems(token)).toEqual([
      [tokenPath, expect.stringMatching(/malformed placeholder: write \$\{NAME\}, \$\{file:/)],
    ]);
  });

  it('is a credential that is not persisted, as a value from the environment', async () => {
    await writeFile(at('token'), 'token-of-a-file-0123\n');
    await writeFile(at('tenant'), 'tenant-of-a-file-0123\n');
    const { credentials, inlineSecrets, persistable } = await loaded(
      provider(`\${file:${at('token')}}`, { default_headers: { 'x-tenant': `\${file:${at('tenant')}}` } }),
    );
    expect(credentials).toEqual(expect.arrayContaining(['token-of-a-file-0123', 'tenant-of-a-file-0123']));
    expect(inlineSecrets).toEqual([]);
    expect(JSON.stringify(persistable)).not.toContain('of-a-file');
    expect(JSON.stringify(persistable)).toContain(`\${file:${at('token')}}`);
  });

  it('in a database row is read only if the configuration file of the process names the file', async () => {
    await writeFile(at('token'), 'token-of-a-file-0123');
    await writeFile(at('other'), 'other-of-a-file-0123');
    const own = await loaded(provider(`\${file:${at('token')}}`));
    const stored = (name: string) => ({
      ...provider(`\${file:${at(name)}}`).providers[0],
      id: 'stored',
    });
    expect(resolver(own, { HOST: 'h' }).provider('stored', stored('token'))).toMatchObject({
      right: { auth: { token: 'token-of-a-file-0123' } },
    });
    expect(resolver(own, { HOST: 'h' }).provider('stored', stored('other'))).toEqual({
      _tag: 'Left',
      left: expect.stringMatching(/other is not named in the configuration of this process/),
    });
  });
});
