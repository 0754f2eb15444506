import { importedBy, resolved, type Source } from './import-rules.ts';

/** What imports what: each file or folder, and what it imports of the others. */
type Graph = ReadonlyMap<string, ReadonlySet<string>>;

/** The imports among the sources, type-only ones included, since these also couple two files. */
const graphOf = (sources: readonly Source[]): Graph =>
  new Map(
    sources.map(({ path, text }) => [
      path,
      new Set(importedBy(text).flatMap((each) => (each.startsWith('.') ? [resolved(path, each)] : []))),
    ]),
  );

/** The same among the folders below `root`; imports within one are left out. */
function folderGraphOf(sources: readonly Source[], root: string): Graph {
  const folderOf = (path: string): string | undefined =>
    path.startsWith(root) ? path.slice(0, path.indexOf('/', root.length)) : undefined;
  const graph = new Map<string, Set<string>>();
  for (const [path, imported] of graphOf(sources)) {
    const folder = folderOf(path);
    if (folder === undefined) continue;
    const others = graph.get(folder) ?? new Set();
    for (const other of [...imported].map(folderOf))
      if (other !== undefined && other !== folder) others.add(other);
    graph.set(folder, others);
  }
  return graph;
}

/** The groups of files that import one another in a cycle, each sorted by name. */
export const circles = (sources: readonly Source[]): readonly (readonly string[])[] =>
  circlesIn(graphOf(sources));

/** The same for the folders below `root`, such as `domain/`. */
export const circlesOfFolders = (sources: readonly Source[], root: string): readonly (readonly string[])[] =>
  circlesIn(folderGraphOf(sources, root));

function circlesIn(graph: Graph): readonly (readonly string[])[] {
  const reach = new Map([...graph.keys()].map((each) => [each, reachedFrom(each, graph)]));
  const groups = [...graph.keys()]
    .filter((each) => reach.get(each)?.has(each))
    .map((each) =>
      [...graph.keys()].filter((other) => reach.get(each)?.has(other) && reach.get(other)?.has(each)).sort(),
    );
  return [...new Set(groups.map((group) => group.join()))].sort().map((group) => group.split(','));
}

function reachedFrom(start: string, graph: Graph): ReadonlySet<string> {
  const reached = new Set<string>();
  const waiting = [...(graph.get(start) ?? [])];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (reached.has(next)) continue;
    reached.add(next);
    waiting.push(...(graph.get(next) ?? []));
  }
  return reached;
}

const listed = /(?:^|\n)(?:import|export)\s+(?:type\s+)?\{([^}]*)\}\s*from\s*'(\.[^']+)'/g;
const whole =
  /\bimport\s*\(\s*'(\.[^']+)'|(?:^|\n)(?:import|export)\s+\*(?:\s+as\s+\w+)?\s+from\s+'(\.[^']+)'/g;
const exported =
  /(?:^|\n)export\s+(?:declare\s+|abstract\s+|async\s+)*(const|let|function\*?|class|interface|type|enum)\s+(\w+)/g;

/** Each imported export as `file#name`; a module that is imported as a namespace is `file#*`. */
function taken(sources: readonly Source[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const { path, text } of sources) {
    for (const [, members = '', from = ''] of text.matchAll(listed))
      for (const member of members.split(',')) {
        const [name = ''] = member
          .trim()
          .replace(/^type\s+/, '')
          .split(/\s+as\s+/);
        if (name !== '') names.add(`${resolved(path, from)}#${name}`);
      }
    for (const [, dynamic, from = dynamic ?? ''] of text.matchAll(whole))
      names.add(`${resolved(path, from)}#*`);
  }
  return names;
}

/**
 * Exports that no other file of the sources imports, as `file#name`. A type that its own file uses is not one
 * of them: it names a part of another export of the file.
 */
export function unusedExports(sources: readonly Source[]): readonly string[] {
  const used = taken(sources);
  return sources.flatMap(({ path, text }) =>
    [...text.matchAll(exported)].flatMap(([, kind = '', name = '']) => {
      if (used.has(`${path}#${name}`) || used.has(`${path}#*`)) return [];
      const isType = kind === 'type' || kind === 'interface';
      const spoken = text.match(new RegExp(`\\b${name}\\b`, 'g'))?.length ?? 0;
      return isType && spoken > 1 ? [] : [`${path}#${name}`];
    }),
  );
}

/** The folder of one provider, or of a dialect that several share; each has a function for the same verb. */
const providerFolder = /^infrastructure\/providers\/([^/]+)\//;

/**
 * Names that several files export: `name: file, file`. A name has one meaning in the product; only folders of
 * providers may repeat a name, since there it does the same for another platform.
 */
export function sharedNames(sources: readonly Source[]): readonly string[] {
  const files = new Map<string, Set<string>>();
  for (const { path, text } of sources)
    for (const [, , name = ''] of text.matchAll(exported))
      files.set(name, (files.get(name) ?? new Set()).add(path));
  return [...files].flatMap(([name, paths]) => {
    const folders = [...paths].map((path) => providerFolder.exec(path)?.[1]);
    const isVerb =
      folders.every((folder) => folder !== undefined) && new Set(folders).size === folders.length;
    return paths.size < 2 || isVerb ? [] : [`${name}: ${[...paths].sort().join(', ')}`];
  });
}
