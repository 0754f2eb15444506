// Other gateways that `npm run bench` measures if the user has installed them. None is a dependency.
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { type Measured, startOn } from './processes.ts';

interface Peer {
  readonly package: string;
  /** The script of its server, within the package. */
  readonly script: string;
  readonly args: (port: number) => readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The headers that send a request to this upstream. */
  readonly headers: (upstreamUrl: string) => Readonly<Record<string, string>>;
}

const peers = {
  portkey: {
    package: '@portkey-ai/gateway',
    script: 'build/start-server.js',
    args: (port) => [`--port=${port}`, '--headless'],
    env: { NODE_ENV: 'production' },
    headers: (upstreamUrl) => ({
      authorization: 'Bearer none',
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': upstreamUrl,
    }),
  },
} as const satisfies Record<string, Peer>;

export type PeerName = keyof typeof peers;

export const peerNames = Object.keys(peers);

export const isPeerName = (name: string): name is PeerName => Object.hasOwn(peers, name);

export interface InstalledPeer {
  readonly name: PeerName;
  readonly version: string;
  readonly script: string;
}

/** The peer as installed in the folder, or else a sentence that says how to install it. */
export function installedPeer(name: PeerName, folder: string): InstalledPeer | string {
  const { package: of, script } = peers[name];
  const at = path.join(path.resolve(folder), 'node_modules', of);
  const manifest = path.join(at, 'package.json');
  if (!existsSync(manifest))
    return (
      `${name} is not installed in ${folder}: run \`npm install --prefix DIR ${of}\` in a folder of its own, ` +
      `as docs/performance.md says, and name it with --peer-folder DIR.`
    );
  const { version }: { readonly version: string } = JSON.parse(readFileSync(manifest, 'utf8'));
  return { name, version, script: path.join(at, script) };
}

export async function startPeer(
  { name, script }: InstalledPeer,
  upstreamUrl: string,
): Promise<{ readonly process: Measured; readonly headers: Readonly<Record<string, string>> }> {
  const { args, env, headers } = peers[name];
  const port = await freePort();
  return { process: await startOn(port, [script, ...args(port)], env), headers: headers(upstreamUrl) };
}

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
