import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { commands } from '../../composition/commands.ts';
import { type RunningCommand, startCommand } from '../e2e/processes.ts';
import { usages } from '../../interfaces/cli/usage.ts';
import { makeTestFolder } from '../support/test-server.ts';
import type { SourcePage } from '../../tools/docs-site/sources.ts';
import { commandsOf, page, pages, root, scriptOf } from './pages.ts';

/** The scenes that blocks run in; `<!-- run: SCENE -->` before a block names its scene. */
const scenes = {
  clone: 'a clone of the repository',
  quickstart: 'a folder in which `npm start` runs; an admin is logged in, with the cookie in `cookies`',
  stopped: 'the same folder, when it was stopped',
  own: 'a folder with the `gateway.yaml` of the page, and what it needs in the environment',
  postgres: 'a PostgreSQL of the machine: recovery.test.ts',
};

const marked = (scene: string): readonly SourcePage[] =>
  pages.filter((each) => commandsOf(each).some((block) => block.scene === scene));

/** `npx gateway` without npm in between, and a `curl` that fails if the response is an error. */
const prelude = `
npx() { test "$1" = gateway; shift; "${process.execPath}" "${path.join(root, 'interfaces', 'cli', 'gateway.mjs')}" "$@"; }
node() { "${process.execPath}" "$@"; }
curl() { command curl --fail-with-body --max-time 20 "$@"; }
`;

const run = promisify(execFile);

/** Runs the commands of a page as printed, one after the other; throws an error with their output. */
async function follow(
  script: string,
  cwd: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<string> {
  const env = { PATH: process.env['PATH'], ...variables };
  const { stdout } = await run('sh', ['-euc', `${prelude}${script}`], { cwd, env, timeout: 60_000 });
  return stdout;
}

describe('the commands of the documentation', () => {
  it('name only existing gateway commands, npm scripts and scenes, and every scene is used', async () => {
    const { scripts } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8')) as {
      readonly scripts: object;
    };
    const wrong = pages.flatMap((each) => [
      ...[...each.text.matchAll(/npx gateway ([\w-]+)/g)].flatMap(([text, name = '']) =>
        Object.hasOwn(commands, name) ? [] : [`${each.file}: ${text}`],
      ),
      ...[...each.text.matchAll(/npm run (?:-s )?([\w:-]+)/g)].flatMap(([text, name = '']) =>
        Object.hasOwn(scripts, name) ? [] : [`${each.file}: ${text}`],
      ),
      ...[...each.text.matchAll(/^ *<!-- run: (\w+) -->\n(?! *```sh)|^ *<!-- run: (\w+) -->/gm)].flatMap(
        ([text, before, scene = '']) =>
          before === undefined && Object.hasOwn(scenes, scene) ? [] : [`${each.file}: ${text}`],
      ),
    ]);
    expect(wrong).toEqual([]);
    for (const scene of Object.keys(scenes)) expect(marked(scene).length).toBeGreaterThan(0);
  });

  it('have the same calls in the table of README as in --help', () => {
    const [, table = ''] = page('README.md').text.split('## Commands\n');
    const cells = (table.split('\n## ')[0] ?? '').split('\n').map((line) => line.split(/(?<!\\)\|/)[1] ?? '');
    const told = cells.flatMap((cell) =>
      [...cell.matchAll(/`npx gateway ([^`]+)`/g)].map(([, call = '']) => call.replaceAll('\\|', '|')),
    );
    const calls = Object.values(usages).flatMap((usage): readonly string[] => usage.calls);
    expect(told.toSorted()).toEqual([...calls, '[COMMAND] --help'].toSorted());
  });

  it('in README include the first commands of docs/getting-started.md', () => {
    const [start] = commandsOf(page('docs/getting-started.md'));
    expect(commandsOf(page('README.md'))[0]?.text).toContain(start?.text.trimEnd());
    const readme = scriptOf(page('README.md'), 'quickstart');
    const [ask = ''] = scriptOf(page('docs/getting-started.md'), 'quickstart').split('\n\n');
    expect(readme).toContain(ask);
  });
});

describe('the commands for a clone', () => {
  it.each(marked('clone').map((each) => [each.file, each] as const))('succeed: %s', async (_, each) => {
    await follow(scriptOf(each, 'clone'), root);
  });
});

describe('the commands for the configuration of a page', () => {
  it.each(marked('own').map((each) => [each.file, each] as const))('find it valid: %s', async (_, each) => {
    const folder = await makeTestFolder('docs-own');
    const [, name = '', text = ''] = /^<!-- file: ([\w.-]+) -->\n```yaml\n(.*?)^```$/ms.exec(each.text) ?? [];
    await writeFile(path.join(folder, name), text);
    const said = await follow(scriptOf(each, 'own'), folder, { OPENAI_API_KEY: 'sk-0123456789abcdef' });
    expect(said).toContain(`${name} is valid; 0 warnings.`);
  });
});

describe('the commands beside a quickstart gateway', () => {
  let folder: string;
  let gateway: RunningCommand;
  let url: string;

  /** Replaces the placeholders of pages by the values of this gateway. */
  const here = (text: string): string =>
    text.replaceAll('http://127.0.0.1:8080', url).replaceAll('019a…', '019a0000-0000-7000-8000-000000000000');

  beforeAll(async () => {
    folder = await makeTestFolder('docs-quickstart');
    const data = path.join(folder, '.gateway');
    gateway = startCommand(['quickstart'], { GATEWAY_DATA_DIR: data, GATEWAY_BIND: '127.0.0.1:0' });
    [, url = ''] = await gateway.says(/Base URL\s+(\S+)\/v1\n/);
    const login = `'{"email":"admin@example.com","password":"'"$(cat .gateway/admin-password)"'"}'`;
    await follow(
      `curl -s -c cookies -H 'content-type: application/json' -d ${login} ${url}/api/v1/auth/login`,
      folder,
    );
  });
  afterAll(async () => {
    gateway?.child.kill('SIGTERM');
    await gateway?.exited;
  });

  it.each(marked('quickstart').map((each) => [each.file, each] as const))('succeed: %s', async (_, each) => {
    await follow(here(scriptOf(each, 'quickstart')), folder);
  });

  it.each(marked('stopped').map((each) => [each.file, each] as const))(
    'report 0 differences after it has stopped: %s',
    async (_, each) => {
      gateway.child.kill('SIGTERM');
      await gateway.exited;
      expect(await follow(scriptOf(each, 'stopped'), folder)).toContain(' 0 differences');
    },
  );
});
