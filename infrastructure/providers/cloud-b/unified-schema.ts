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
 * has others (rule 17.62): https://docs.aws.amazon.com/nova/latest/userguide/prompting-tool-troubleshooting.html
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
 * The values that may be copied for references in one schema before no more are replaced. Schemas of real tools need
 * some hundred, and references that multiply could need any number.
 */
const maxInlinedValues = 20_000;

/** Where a value stands in the schema that is written: the references that it is within, and how deep it is. */
interface Position {
  readonly within: readonly string[];
  readonly depth: number;
}

const top: Position = { within: [], depth: 0 };

/**
 * Replaces the references in one schema. A reference into itself, or beyond the limits of values and of depth, says
 * nothing any more.
 */
class Inlining {
  private readonly root: JsonObject;
  private copied = 0;

  constructor(root: JsonObject) {
    this.root = root;
  }

  inlined(value: Json | undefined, { within, depth }: Position): Json | undefined {
    if (within.length > 0) this.copied += 1;
    const below = { within, depth: depth + 1 };
    if (isArray(value)) return value.map((each) => this.inlined(each, below) ?? null);
    if (!isObject(value)) return value;
    const { $ref: reference } = value;
    if (!isString(reference)) return this.members(value, below);
    const own = this.members(without(value, '$ref'), below);
    const isOver = this.copied >= maxInlinedValues || depth >= maxJsonDepth;
    const target = isOver || within.includes(reference) ? undefined : targetOf(this.root, reference);
    if (target === undefined) return own;
    const inTarget = { within: [...within, reference], depth: depth + 1 };
    return { ...(this.inlined(target, inTarget) as JsonObject), ...own };
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
