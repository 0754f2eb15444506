import {
  isArray,
  isObject,
  isString,
  type Json,
  type JsonObject,
  only,
  without,
} from '../../../domain/shared/json.ts';
import { maxJsonDepth } from '../../../domain/shared/limits.ts';
import { describedBy, type ToolDescription } from '../messages-body/flat-tool.ts';

export const isNova = (upstreamModel: string): boolean =>
  /(?:^|[/.])amazon\.nova-/.test(upstreamModel.toLowerCase());

/**
 * A tool for Nova models, which take only three fields at the top level of a schema, and reject or ignore a tool that
 * has others (rule 17.45): https://docs.aws.amazon.com/nova/latest/userguide/prompting-tool-troubleshooting.html
 * References are replaced by what they refer to. What else limits the arguments is told in the description.
 */
export function asNovaTool({ schema, description }: ToolDescription): ToolDescription {
  const whole = new Inlining(schema).inlined(without(schema, '$defs', 'definitions'), top) as JsonObject;
  const { description: own } = whole;
  const words = description === '' && isString(own) ? own : description;
  return {
    schema: only(whole, taken),
    description: describedBy(words, without(whole, ...taken, ...unneeded)),
  };
}

const taken: ReadonlySet<string> = new Set(['type', 'properties', 'required']);

/** What the model needs no longer, or knows from the tool. */
const unneeded = ['$schema', '$id', '$comment', 'title', 'description', 'additionalProperties'];

/**
 * The characters that may be copied for references in one schema before no more are replaced. Schemas of real tools
 * need some thousand, and references that multiply, or that repeat a long text, could need any number (rule 17.62).
 */
const maxInlinedChars = 256 * 1024;

/** Where a value stands in the schema that is written: the references that it is within, and how deep it is. */
interface Position {
  readonly within: readonly string[];
  readonly depth: number;
}

const top: Position = { within: [], depth: 0 };

/**
 * Replaces the references in one schema. A reference into itself, or beyond the limits of characters and of depth, says
 * nothing any more.
 */
class Inlining {
  private readonly root: JsonObject;
  private readonly charsOf = new Map<JsonObject, number>();
  private left = maxInlinedChars;

  constructor(root: JsonObject) {
    this.root = root;
    this.measure(root);
  }

  /** About how long a value is as JSON. Lengths of objects are kept, so that each value is measured once. */
  private measure(value: Json | undefined): number {
    if (!isObject(value) && !isArray(value)) return JSON.stringify(value ?? null).length;
    const chars = Object.entries(value).reduce(
      (sum, [key, each]) => sum + key.length + this.measure(each),
      2,
    );
    if (isObject(value)) this.charsOf.set(value, chars);
    return chars;
  }

  inlined(value: Json | undefined, { within, depth }: Position): Json | undefined {
    const below = { within, depth: depth + 1 };
    if (isArray(value)) return value.map((each) => this.inlined(each, below) ?? null);
    if (!isObject(value)) return value;
    const { $ref: reference } = value;
    if (!isString(reference)) return this.members(value, below);
    const own = this.members(without(value, '$ref'), below);
    const isOver = depth >= maxJsonDepth || within.includes(reference);
    const target = isOver ? undefined : this.taken(targetOf(this.root, reference));
    if (target === undefined) return own;
    const inTarget = { within: [...within, reference], depth: depth + 1 };
    return { ...(this.inlined(target, inTarget) as JsonObject), ...own };
  }

  private taken(target: JsonObject | undefined): JsonObject | undefined {
    const chars = target === undefined ? 0 : (this.charsOf.get(target) ?? 0);
    if (chars > this.left) return undefined;
    this.left -= chars;
    return target;
  }

  private members(object: JsonObject, below: Position): JsonObject {
    return Object.fromEntries(
      Object.entries(object).map(([key, value]) => [key, this.inlined(value, below)]),
    );
  }
}

/** The object that a JSON pointer of the same document (RFC 6901) refers to. */
function targetOf(root: JsonObject, reference: string): JsonObject | undefined {
  if (!reference.startsWith('#/')) return undefined;
  const keys = reference
    .slice(2)
    .split('/')
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
  const target = keys.reduce<Json | undefined>(
    (value, key) => (isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined),
    root,
  );
  return isObject(target) ? target : undefined;
}
