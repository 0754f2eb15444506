import { readFileSync } from 'node:fs';
import path from 'node:path';

/** The version of this release, from `package.json`. */
export function releaseVersion(): string {
  const manifest = path.join(import.meta.dirname, '..', 'package.json');
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string };
  return version;
}
