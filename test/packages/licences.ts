import { type Lockfile, nameIn, packagesOf } from './lockfile.ts';

/** Licences that require at most their notice: who distributes the gateway need not publish its source. */
const permissive: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'PSF-2.0',
  'Unlicense',
  'Zlib',
]);

/** Packages with another licence that was reviewed, and that licence. */
const lookedAt: Readonly<Record<string, string>> = {
  // Data about browsers, read by a test tool; none of it is distributed.
  'caniuse-lite': 'CC-BY-4.0',
  // A test tool.
  'axe-core': 'MPL-2.0',
  // Test servers; the licence that they refer to is MIT in transition to Apache-2.0.
  '@modelcontextprotocol/server-everything': 'SEE LICENSE IN LICENSE',
  '@modelcontextprotocol/server-filesystem': 'SEE LICENSE IN LICENSE',
  '@modelcontextprotocol/server-memory': 'SEE LICENSE IN LICENSE',
  // A build tool of the page; its output is the page's own style sheet.
  lightningcss: 'MPL-2.0',
};

/** The package that a binary for one platform belongs to. */
const familyOf = (name: string): string => (name.startsWith('lightningcss-') ? 'lightningcss' : name);

/** One sentence for each package of the lockfile whose licence is not permissive, or not known. */
export const licenceFaults = (lockfile: Lockfile): readonly string[] =>
  packagesOf(lockfile).flatMap(([folder, { license, version }]) => {
    const name = nameIn(folder);
    if (license !== undefined && (isPermissive(license) || lookedAt[familyOf(name)] === license)) return [];
    const what = license === undefined ? 'says no licence' : `is under ${license}`;
    return [`${name}@${version ?? '?'} ${what}, which is not on the list of test/packages/licences.ts`];
  });

/** Evaluates an SPDX expression: OR needs one permissive side, AND both; exceptions are not supported. */
export function isPermissive(expression: string): boolean {
  const words = expression.match(/[()]|[^\s()]+/g) ?? [];
  let at = 0;
  const taken = (word: string): boolean => {
    const here = words[at] === word;
    if (here) at += 1;
    return here;
  };
  const either = (): boolean => {
    let good = both();
    while (taken('OR')) good = both() || good;
    return good;
  };
  const both = (): boolean => {
    let good = one();
    while (taken('AND')) good = one() && good;
    return good;
  };
  const one = (): boolean => {
    if (taken('(')) {
      const good = either();
      return taken(')') && good;
    }
    const licence = words[at] ?? '';
    at += 1;
    return permissive.has(licence);
  };
  const good = either();
  return good && at === words.length;
}
