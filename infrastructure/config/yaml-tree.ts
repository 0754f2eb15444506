import { type Alias, isAlias, isMap, isScalar, isSeq, type Node, type Scalar, type YAMLMap } from 'yaml';
import type { Json } from '../../domain/shared/json.ts';
import { shownKey } from './shown-key.ts';

/** Levels of nesting: extra_body of real routes stays below 10. */
const maxDepth = 64;
/** Uses of anchors, counted where they are expanded. */
const maxAliasUses = 1000;
/** Values that anchors may expand to: more than a hand-written file has, but few enough to fit in memory. */
const maxAliasedNodes = 100_000;

/** A construct that YAML allows and a configuration does not; `offset` counts characters of the text. */
export interface TreeFault {
  readonly offset: number;
  readonly message: string;
}

export interface Tree {
  readonly value: Json;
  readonly faults: readonly TreeFault[];
  /** The node that each use of an anchor refers to. */
  readonly targets: ReadonlyMap<Node, Node>;
  /** The members of each map, by key. */
  readonly members: ReadonlyMap<Node, ReadonlyMap<string, MapEntry>>;
}

/** A key of a map, and its value. */
export interface MapEntry {
  readonly key: Node;
  readonly value: Node | null;
}

interface Reading {
  readonly textKeys: ReadonlySet<string>;
  readonly faults: TreeFault[];
  readonly anchors: Map<string, Node>;
  readonly targets: Map<Node, Node>;
  readonly members: Map<Node, ReadonlyMap<string, MapEntry>>;
  aliasUses: number;
  aliasedNodes: number;
}

interface Place {
  readonly depth: number;
  /** Inside an expanded anchor. Its definition was read before, so anchors in it are not set again. */
  readonly aliased: boolean;
  readonly key: string | undefined;
}

/** Converts a node to JSON. Anything that JSON cannot represent becomes null and is reported as a fault. */
export function toTree(root: Node, textKeys: ReadonlySet<string>): Tree {
  const reading: Reading = {
    textKeys,
    faults: [],
    anchors: new Map(),
    targets: new Map(),
    members: new Map(),
    aliasUses: 0,
    aliasedNodes: 0,
  };
  const value = read(root, { depth: 0, aliased: false, key: undefined }, reading);
  const { faults, targets, members } = reading;
  return { value, faults, targets, members };
}

function read(node: Node | null, place: Place, reading: Reading): Json {
  if (node === null) return null;
  if (place.depth > maxDepth) return fault(node, `is nested more than ${maxDepth} levels deep`, reading);
  if (place.aliased) reading.aliasedNodes += 1;
  if (isAlias(node)) return readAlias(node, place, reading);
  if (!place.aliased && node.anchor !== undefined) reading.anchors.set(node.anchor, node);
  const inner = { depth: place.depth + 1, aliased: place.aliased, key: undefined };
  if (isMap(node)) return readMap(node, inner, reading);
  if (isSeq(node)) return node.items.map((item) => read(item as Node | null, inner, reading));
  return isScalar(node) ? readScalar(node, place, reading) : fault(node, 'is no value', reading);
}

function readMap(map: YAMLMap, inner: Place, reading: Reading): Json {
  const members = new Map<string, MapEntry>();
  const values: Record<string, Json> = {};
  for (const pair of map.items) {
    const member: MapEntry = { key: pair.key as Node, value: pair.value as Node | null };
    const key = isScalar(member.key) ? String(member.key.value) : undefined;
    if (key === undefined || key === '__proto__') fault(member.key, 'this cannot be a key', reading);
    else if (members.has(key))
      fault(member.key, `the key \`${shownKey(key)}\` is there already, further up`, reading);
    else {
      members.set(key, member);
      values[key] = read(member.value, { ...inner, key }, reading);
    }
  }
  reading.members.set(map, members);
  return values;
}

function readScalar(scalar: Scalar, { key }: Place, reading: Reading): Json {
  const { value } = scalar;
  if (typeof value === 'number') {
    if (key !== undefined && reading.textKeys.has(key)) return scalar.source ?? String(value);
    return Number.isFinite(value) ? value : fault(scalar, 'is no finite number', reading);
  }
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value;
  return fault(scalar, 'is no text, number, boolean or null', reading);
}

function readAlias(alias: Alias, place: Place, reading: Reading): Json {
  const target = reading.targets.get(alias) ?? reading.anchors.get(alias.source);
  if (target === undefined) return fault(alias, 'uses an anchor that is not defined above it', reading);
  reading.targets.set(alias, target);
  reading.aliasUses += 1;
  if (reading.aliasUses > maxAliasUses || reading.aliasedNodes > maxAliasedNodes)
    return fault(alias, `anchors expand into too much (at most ${maxAliasUses} uses in all)`, reading);
  return read(target, { ...place, depth: place.depth + 1, aliased: true }, reading);
}

/** Reports each fault once, and at most 100 of them: a bomb of anchors would cause thousands. */
function fault(node: Node, message: string, reading: Reading): null {
  const offset = node.range?.[0] ?? 0;
  const reported = reading.faults.some((each) => each.message === message && each.offset === offset);
  if (!reported && reading.faults.length < 100) reading.faults.push({ offset, message });
  return null;
}
