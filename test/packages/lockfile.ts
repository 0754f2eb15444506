import { readFileSync } from 'node:fs';
import path from 'node:path';

/** The entry of one package in the lockfile. */
export interface LockedPackage {
  readonly version?: string;
  /** The SPDX expression of its manifest. */
  readonly license?: string;
  /** It is needed only to build and test. */
  readonly dev?: boolean;
  /** The URL of its registry; omitted, so that any registry can be used. */
  readonly resolved?: string;
}

/** Packages by their folder; the project itself has the empty one. */
export type Lockfile = { readonly packages: Readonly<Record<string, LockedPackage>> };

export const root = path.join(import.meta.dirname, '..', '..');

export const readLockfile = (): Lockfile =>
  JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8')) as Lockfile;

/** The name of the package in a folder: `node_modules/a/node_modules/@b/c` is `@b/c`. */
export const nameIn = (folder: string): string => folder.slice(folder.lastIndexOf('node_modules/') + 13);

/** Every package but the project itself. */
export const packagesOf = ({ packages }: Lockfile): readonly (readonly [folder: string, LockedPackage])[] =>
  Object.entries(packages).filter(([folder]) => folder !== '');

/** One sentence for each package that the lockfile ties to a registry. */
export const registryFaults = (lockfile: Lockfile): readonly string[] =>
  packagesOf(lockfile)
    .filter(([, { resolved }]) => resolved !== undefined)
    .map(([folder]) => `${nameIn(folder)} is locked to one registry: install with the project's .npmrc`);
