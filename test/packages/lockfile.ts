import { readFileSync } from 'node:fs';
import path from 'node:path';

/** What the lockfile says of one package. */
export interface LockedPackage {
  readonly version?: string;
  /** As its manifest has it: an SPDX expression. */
  readonly license?: string;
  /** Only what is needed to build and test depends on it. */
  readonly dev?: boolean;
  /** Where it came from; left out, so that any registry will do. */
  readonly resolved?: string;
}

/** By the folder that a package goes into; the project itself has the empty one. */
export type Lockfile = { readonly packages: Readonly<Record<string, LockedPackage>> };

export const root = path.join(import.meta.dirname, '..', '..');

export const readLockfile = (): Lockfile =>
  JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8')) as Lockfile;

/** The name of the package in a folder: `node_modules/a/node_modules/@b/c` is `@b/c`. */
export const nameIn = (folder: string): string => folder.slice(folder.lastIndexOf('node_modules/') + 13);

/** Every package but the project itself. */
export const packagesOf = ({ packages }: Lockfile): readonly (readonly [folder: string, LockedPackage])[] =>
  Object.entries(packages).filter(([folder]) => folder !== '');

/** One sentence for each package that the lockfile says the registry of. */
export const registryFaults = (lockfile: Lockfile): readonly string[] =>
  packagesOf(lockfile)
    .filter(([, { resolved }]) => resolved !== undefined)
    .map(([folder]) => `${nameIn(folder)} is locked to one registry: install with the project's .npmrc`);
