import { type PayloadRoot, payloadRoots } from './wrap.ts';

/**
 * Admin paths as a tree: dot-separated object keys, `*` as a whole-segment wildcard, anchored at the wrapped payload
 * root. The items of an array match `*`; a path may also omit their level, and then they match as if they stood in the
 * array's place.
 */
export interface PathNode {
  readonly keys: ReadonlyMap<string, PathNode>;
  readonly any: PathNode | undefined;
  /** What happens to a value at this node. */
  readonly ends: PathEnd | undefined;
}

export type PathEnd = 'redacted' | 'error';

/** The tree nodes that match a place in the payload. */
export type PathPlace = readonly PathNode[];

/** Where an answer reports an error when it has no `error` member: in its root, or in the root of a stream's event. */
const errorPaths = ['message', 'Message', 'detail'].flatMap((key) => [`body.${key}`, `events.*.${key}`]);

export function pathsOf(redactionPaths: readonly string[]): PathNode {
  const root = new OpenNode();
  for (const path of errorPaths) root.add(path.split('.'), 'error');
  for (const path of redactionPaths)
    for (const segments of spelled(path.split('.'))) root.add(segments, 'redacted');
  return root;
}

/** Header names match in any case: payloads keep them in lower case. */
function spelled(segments: readonly string[]): readonly (readonly string[])[] {
  const [root, name, ...rest] = segments;
  if (name === undefined || (root !== headersRoot && root !== '*')) return [segments];
  return [segments, [headersRoot, name.toLowerCase(), ...rest]];
}

const headersRoot = 'headers' satisfies PayloadRoot;

/** False when the path matches nothing: it begins at no payload root, or goes deeper than that root's values. */
export function canMatch(redactionPath: string): boolean {
  const segments = redactionPath.split('.');
  const root = payloadRoots.find((each) => each === segments[0]);
  return root === undefined ? segments[0] === '*' : segments.length <= (levels[root] ?? segments.length);
}

/**
 * The most segments that a path can have at these roots: a header's value is a string or an array of strings, and
 * `stream` is `true`. All other roots contain arbitrary JSON.
 */
const levels: Partial<Record<PayloadRoot, number>> = { headers: 3, stream: 1 };

class OpenNode implements PathNode {
  readonly keys = new Map<string, OpenNode>();
  any: OpenNode | undefined;
  ends: PathEnd | undefined;

  add([segment, ...rest]: readonly string[], ends: PathEnd): void {
    if (segment === undefined) this.ends = ends;
    else this.below(segment).add(rest, ends);
  }

  private below(segment: string): OpenNode {
    if (segment === '*') {
      this.any ??= new OpenNode();
      return this.any;
    }
    const node = this.keys.get(segment) ?? new OpenNode();
    this.keys.set(segment, node);
    return node;
  }
}

const nowhere: PathPlace = [];

export function placeOfMember(place: PathPlace, key: string): PathPlace {
  let below: PathNode[] | undefined;
  for (const { keys, any } of place) {
    const named = keys.get(key);
    if (named !== undefined) (below ??= []).push(named);
    if (any !== undefined) (below ??= []).push(any);
  }
  return below ?? nowhere;
}

export function placeOfItems(place: PathPlace): PathPlace {
  if (place.length === 0) return nowhere;
  return place.flatMap(({ keys, any }) => [
    ...(any === undefined ? [] : [any]),
    ...(keys.size === 0 ? [] : [{ keys, any: undefined, ends: undefined }]),
  ]);
}

export const endsAt = (place: PathPlace, end: PathEnd): boolean => place.some(({ ends }) => ends === end);
