import { isArray, isObject, type Json } from '../shared/json.ts';

/**
 * Admin paths as a tree: dot-separated object keys, `*` as a whole-segment wildcard, anchored at the wrapped payload
 * root. The items of an array are reached by `*`, or, where a path says nothing of them, as if they stood in the
 * array's place.
 */
export interface PathNode {
  readonly keys: ReadonlyMap<string, PathNode>;
  readonly any: PathNode | undefined;
  /** What happens to the value that stands here. */
  readonly ends: PathEnd | undefined;
}

export type PathEnd = 'redacted' | 'error';

/** The nodes that a place of the payload stands at. */
export type PathPlace = readonly PathNode[];

/** Where an answer keeps what went wrong when it has no `error`: in its root, or in that of a stream's event. */
const errorPaths = ['message', 'Message', 'detail'].flatMap((key) => [`body.${key}`, `events.*.${key}`]);

export function pathsOf(redactionPaths: readonly string[]): PathNode {
  const root = new OpenNode();
  for (const path of errorPaths) root.add(path.split('.'), 'error');
  for (const path of redactionPaths) root.add(path.split('.'), 'redacted');
  return root;
}

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

/** Whether anything of a value stands where a path ends; also true where it only may. */
export function reaches(place: PathPlace, value: Json | undefined): boolean {
  if (place.length === 0) return false;
  if (place.some(({ ends }) => ends !== undefined)) return true;
  if (isArray(value)) {
    const below = placeOfItems(place);
    return below.length > 0 && value.some((item) => reaches(below, item));
  }
  if (!isObject(value)) return false;
  for (const key in value) if (reaches(placeOfMember(place, key), value[key])) return true;
  return false;
}

export const endsAt = (place: PathPlace, end: PathEnd): boolean => place.some(({ ends }) => ends === end);
