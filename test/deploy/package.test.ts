import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { builtinModules } from 'node:module';
import path from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { importedBy } from '../architecture/import-rules.ts';
import { startSimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import { withDatabase } from '../support/database.ts';
import { makeTestFolder } from '../support/test-server.ts';
import { fileOf, ran, root, textOf } from './files.ts';
import { layOutPackage } from './laid-out-package.ts';

interface Manifest {
  readonly version: string;
  readonly bin: { readonly gateway: string };
  readonly dependencies: Readonly<Record<string, string>>;
}

const manifest = JSON.parse(textOf('package.json')) as Manifest;
const key = `gwk_${'0'.repeat(32)}.${'1'.repeat(64)}`;

describe('the package', () => {
  it('contains configuration, deployment files and documentation, and no tests, TypeScript or `deploy/.env`', () => {
    // The npm that started this run, if any: then none has to be on the path.
    const npm = process.env['npm_execpath'];
    const args = ['pack', '--dry-run', '--json', '--ignore-scripts'];
    const { out, err } =
      npm === undefined
        ? ran('npm', args, { cwd: root })
        : ran(process.execPath, [npm, ...args], { cwd: root });
    expect({ err, isList: out.trimStart().startsWith('[') }).toMatchObject({ isList: true });
    const [packed] = JSON.parse(out) as readonly { readonly files: readonly { readonly path: string }[] }[];
    const files = packed?.files.map((each) => each.path) ?? [];
    expect(files).toEqual(
      expect.arrayContaining([
        manifest.bin.gateway,
        'CHANGELOG.md',
        'LICENSE',
        'README.md',
        'config/example.yaml',
        'config/gateway.schema.json',
        'deploy/compose.yaml',
        'deploy/helm/model-gateway/Chart.yaml',
        'deploy/systemd/model-gateway.service',
        'docs/deploying.md',
      ]),
    );
    expect(files.filter((file) => /\.tsx?$|^(?:test|bench|domain|infrastructure)\//.test(file))).toEqual([]);
    // Secrets that were created for compose must not be published.
    for (const file of ['.gitignore', 'package.json']) expect(textOf(file)).toContain('deploy/.env');
  });

  it('has exactly the packages that the service imports as dependencies', async () => {
    const folders = [
      'domain',
      'application',
      'infrastructure',
      'interfaces/http',
      'interfaces/cli',
      'composition',
    ];
    const files = (
      await Promise.all(
        [...folders, 'tools/simulated-upstream'].map(async (folder) =>
          (await readdir(fileOf(folder), { recursive: true })).map((file) => path.join(folder, file)),
        ),
      )
    ).flat();
    const imported = files
      .filter((file) => file.endsWith('.ts'))
      // Type-only imports do not exist in the JavaScript.
      .flatMap((file) => importedBy(textOf(file).replaceAll(/^import type [^;]*;/gm, '')))
      .filter((name) => !name.startsWith('.') && !name.startsWith('node:') && !builtinModules.includes(name))
      .map((name) => /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name);
    // inversify needs it as a peer.
    const wanted = new Set([...imported, 'reflect-metadata']);
    expect(Object.keys(manifest.dependencies).toSorted()).toEqual([...wanted].toSorted());
  });
});

describe('the built package', () => {
  const database = withDatabase();
  let folder = '';
  let script = '';

  beforeAll(async () => {
    folder = await makeTestFolder('package');
    script = await layOutPackage(folder);
  });

  it('prints its version for `--version`', () => {
    expect(ran(process.execPath, [script, '--version'])).toEqual({
      code: 0,
      out: `${manifest.version}\n`,
      err: '',
    });
  });

  it('serves a small and a 2 MB request, logs no error, and exits with 0 on SIGTERM', async () => {
    const { ended, out } = await whileServing(async ({ url }) => {
      for (const content of ['Hello', 'x'.repeat(2_000_000)]) {
        const answer = await fetch(`${url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model: 'fast', messages: [{ role: 'user', content }] }),
        });
        expect({ status: answer.status, text: await answer.text() }).toEqual({
          status: 200,
          text: expect.stringContaining('This is a simulated answer'),
        });
      }
    });
    expect(ended).toEqual([0, null]);
    expect(out).not.toContain('"level":"error"');
  });

  // Garbage of the start is freed before the gateway listens; rarely used modules are loaded on first use.
  it('uses between 50 and 125 MiB of resident memory while idle', async () => {
    let kib = Number.NaN;
    await whileServing(async ({ pid }) => {
      kib = residentKib(pid);
    });
    expect(kib / 1024).toBeGreaterThan(50);
    expect(kib / 1024).toBeLessThan(125);
  });

  it('does not load Node’s built-in `fetch`, although a plain import of `node:http` does', async () => {
    const atExit = `process.on('exit', () => console.log('loaded fetch', process.moduleLoadList.some((name) => name.endsWith('deps/undici/undici'))))`;
    const preload = `--import=data:text/javascript,${encodeURIComponent(atExit)}`;
    const { out } = await whileServing(async () => undefined, { NODE_OPTIONS: preload });
    // Its supervisor and its worker.
    expect(out.match(/loaded fetch \w+/g)).toEqual(['loaded fetch false', 'loaded fetch false']);
    const { out: plain } = ran(process.execPath, [
      preload,
      '--input-type=module',
      '--eval',
      `import 'node:http'`,
    ]);
    expect(plain).toBe('loaded fetch true\n');
  });

  /** Runs the package as a gateway in front of a simulated upstream; returns its exit code and its output. */
  async function whileServing(
    use: (gateway: Listening) => Promise<void>,
    environment: Readonly<Record<string, string>> = {},
  ) {
    const upstream = await startSimulatedUpstream({ port: 0 });
    const config = path.join(folder, 'gateway.yaml');
    await writeFile(config, readFileSync(fileOf('config/quickstart.yaml')));
    const child = spawn(process.execPath, [script, 'serve'], {
      env: {
        ...environment,
        GATEWAY_CONFIG: config,
        GATEWAY_BIND: '127.0.0.1:0',
        GATEWAY_DATA_DIR: path.join(folder, 'data'),
        GATEWAY_SIMULATED_URL: upstream.url,
        GATEWAY_QUICKSTART_KEY: key,
        DATABASE_URL: database.url(),
      },
    });
    let out = '';
    child.stdout.on('data', (chunk: Buffer) => void (out += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => void (out += chunk.toString()));
    const closed = once(child, 'close');
    try {
      await use(await listening(() => out));
    } finally {
      child.kill('SIGTERM');
      await closed;
      await upstream.close();
    }
    return { ended: await closed, out };
  }
});

/** The URL and the process id of a listening gateway. */
interface Listening {
  readonly url: string;
  readonly pid: number;
}

const residentKib = (pid: number): number =>
  Number(/VmRSS:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);

/** Waits until a gateway logs that it listens. */
async function listening(out: () => string): Promise<Listening> {
  for (let tries = 0; tries < 400; tries += 1) {
    const [, line] = /^(\{.*"msg":"listening".*)\n/m.exec(out()) ?? [];
    if (line !== undefined) return JSON.parse(line) as Listening;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`The gateway does not listen: ${out()}`);
}
