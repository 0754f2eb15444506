import { isObject, isArray, isString, type Json, type JsonObject } from '../../../domain/shared/json.ts';
import { maxJsonDepth } from '../../../domain/shared/limits.ts';

/** A value that is still arriving: strings grow, and objects and arrays fill up. */
type Growing = Leaf | GrowingObject | GrowingArray;
interface Leaf {
  readonly kind: 'leaf';
  value: Json;
}
interface GrowingObject {
  readonly kind: 'object';
  readonly members: Map<string, Growing>;
}
interface GrowingArray {
  readonly kind: 'array';
  readonly items: Growing[];
}

/** The arguments of a call that arrives in pieces, each of which has its own JSON path (RFC 9535). */
export class PartialArguments {
  /** The number of characters taken, plus the cost of the values and steps that hold them. */
  chars = 0;
  private readonly root: GrowingObject = { kind: 'object', members: new Map() };

  /** Takes the pieces of one part. Returns false if one of them does not fit. */
  take(pieces: Json | undefined): boolean {
    if (!isArray(pieces)) return true;
    return pieces.every((piece) => isObject(piece) && this.put(piece));
  }

  /** The arguments that arrived whole, overridden by the object that the pieces make up. */
  over(args: JsonObject): JsonObject {
    return { ...args, ...(valueOf(this.root) as JsonObject) };
  }

  private put(piece: JsonObject): boolean {
    const steps = stepsOf(piece['jsonPath']);
    const value = scalarOf(piece);
    this.chars += charsPerPiece * (steps.length + 1) + (isString(value) ? value.length : 0);
    if (value === undefined) return false;
    const leaf = this.leafAt(steps);
    if (leaf === undefined) return false;
    leaf.value = isString(value) && isString(leaf.value) ? leaf.value + value : value;
    return true;
  }

  private leafAt(steps: readonly Step[]): Leaf | undefined {
    let place: Growing | undefined = this.root;
    for (const [index, step] of steps.entries()) {
      const next = steps[index + 1];
      place = enter(place, step, () => (next === undefined ? { kind: 'leaf', value: '' } : emptyFor(next)));
      if (place === undefined) return undefined;
    }
    return place.kind === 'leaf' ? place : undefined;
  }
}

/** The minimum cost of a value in memory: its place in the tree. */
const charsPerPiece = 64;

type Step = string | number;

const emptyFor = (next: Step): Growing =>
  typeof next === 'number' ? { kind: 'array', items: [] } : { kind: 'object', members: new Map() };

/** The value at this step, created if there is none yet. Returns `undefined` if it would leave a hole in an array. */
function enter(place: Growing, step: Step, make: () => Growing): Growing | undefined {
  if (place.kind === 'object' && typeof step === 'string') {
    const found = place.members.get(step) ?? make();
    place.members.set(step, found);
    return found;
  }
  if (place.kind !== 'array' || typeof step !== 'number' || step > place.items.length) return undefined;
  const found = place.items[step] ?? make();
  place.items[step] = found;
  return found;
}

function valueOf(growing: Growing): Json {
  if (growing.kind === 'leaf') return growing.value;
  if (growing.kind === 'array') return growing.items.map(valueOf);
  return Object.fromEntries([...growing.members].map(([key, member]) => [key, valueOf(member)]));
}

function scalarOf({ stringValue, numberValue, boolValue, nullValue }: JsonObject): Json | undefined {
  if (nullValue !== undefined) return null;
  return stringValue ?? numberValue ?? boolValue;
}

/** `.name`, `[0]`, `['name']` and `["name"]`. */
const step = /\.([^.[\]]+)|\[(\d{1,9})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/y;

/** The steps of a path from the root; none if it is not a path to a single value. */
function stepsOf(path: Json | undefined): readonly Step[] {
  if (!isString(path) || !path.startsWith('$')) return [];
  const steps: Step[] = [];
  for (let at = 1; at < path.length; at = step.lastIndex) {
    step.lastIndex = at;
    const [, name, index, single, double] = step.exec(path) ?? [];
    const quoted = single ?? double;
    if (name !== undefined) steps.push(name);
    else if (index !== undefined) steps.push(Number(index));
    else if (quoted !== undefined) steps.push(quoted.replaceAll(/\\(.)/g, '$1'));
    else return [];
    if (steps.length > maxJsonDepth) return [];
  }
  return steps;
}
