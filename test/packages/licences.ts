import { type Lockfile, nameIn, packagesOf } from './lockfile.ts';

/** Licences that ask for no more than their notice: whoever passes the gateway on owes nobody its source. */
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

/** Packages whose licence is no software licence, and the one that was looked at. */
const lookedAt: Readonly<Record<string, string>> = {
  // Data about browsers, which a tool of the tests reads; nothing of it is passed on.
  'caniuse-lite': 'CC-BY-4.0',
  // A tool of the tests.
  'axe-core': 'MPL-2.0',
  // Servers of the tests; the licence that they point to is MIT on its way to Apache-2.0.
  '@modelcontextprotocol/server-everything': 'SEE LICENSE IN LICENSE',
  '@modelcontextprotocol/server-filesystem': 'SEE LICENSE IN LICENSE',
  '@modelcontextprotocol/server-memory': 'SEE LICENSE IN LICENSE',
  // A tool of the page's build: what it leaves behind is the page's own style sheet.
  lightningcss: 'MPL-2.0',
};

/** The package that binaries for one platform belong to. */
const familyOf = (name: string): string => (name.startsWith('lightningcss-') ? 'lightningcss' : name);

/** One sentence for each package of the lockfile whose licence is not permissive, or not known. */
export const licenceFaults = (lockfile: Lockfile): readonly string[] =>
  packagesOf(lockfile).flatMap(([folder, { license, version }]) => {
    const name = nameIn(folder);
    if (license !== undefined && (isPermissive(license) || lookedAt[familyOf(name)] === license)) return [];
    const what = license === undefined ? 'says no licence' : `is under ${license}`;
    return [`${name}@${version ?? '?'} ${what}, which is not on the list of test/packages/licences.ts`];
  });

/** An SPDX expression: of an OR one side is enough, of an AND both are needed; exceptions are never known. */
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
