import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { spellingsOf } from '../../../domain/compatibility/spellings.ts';
import {
  isObject,
  isAbsent,
  isArray,
  isString,
  type Json,
  type JsonObject,
} from '../../../domain/shared/json.ts';
import { fieldError } from '../../../domain/shared/field-errors.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { namedKey } from '../../../domain/shared/named-key.ts';
import {
  guardrailShape,
  guardrailTraces,
  guardrailVersionShape,
  latencies,
  maxFieldPathChars,
  maxFieldPaths,
  maxMetadataEntries,
  metadataKeyShape,
  metadataValueShape,
  serviceTiers,
  streamProcessingModes,
} from './unified-limits.ts';
import { outputConfig } from './unified-output.ts';

/** One of the platform's own fields, as the caller spelled it. */
export interface Spelled {
  readonly path: string;
  readonly value: Json;
}

/** The platform's fields may be spelled as the platform does, or in snake case. Both at once are a conflict. */
export function spelled(
  object: JsonObject,
  name: string,
  prefix = '',
): Either<GatewayError, Spelled | undefined> {
  const [first, second] = spellingsOf(name).flatMap((each): readonly Spelled[] => {
    const value = object[each];
    return isAbsent(value) ? [] : [{ path: `${prefix}${each}`, value }];
  });
  return first === undefined || second === undefined
    ? E.right(first)
    : E.left(fieldError(first.path, `and \`${second.path}\` are the same field: send one of them.`));
}

/** Fields that are sent to the platform unchanged after validation. */
export function platformOptions(body: JsonObject, stream: boolean): Either<GatewayError, JsonObject> {
  const members: JsonObject[] = [];
  for (const [name, read] of Object.entries(readers)) {
    const given = spelled(body, name);
    if (E.isLeft(given)) return given;
    if (given.right === undefined) continue;
    const value = read(given.right, stream);
    if (E.isLeft(value)) return value;
    if (value.right !== undefined) members.push({ [name]: value.right });
  }
  const output = outputConfig(body);
  if (E.isLeft(output)) return output;
  return E.right(Object.assign({}, ...members, output.right) as JsonObject);
}

/** Returns `undefined` if the field need not be sent. */
type Read = (given: Spelled, stream: boolean) => Either<GatewayError, Json | undefined>;

const oneOf = (words: readonly string[]): FieldRule => ({
  is: (value) => isString(value) && words.includes(value),
  problem: `must be one of: ${words.join(', ')}.`,
});

const shaped = (shape: RegExp, problem: string): FieldRule => ({
  is: (value) => isString(value) && shape.test(value),
  problem,
});

interface FieldRule {
  readonly is: (value: Json) => boolean;
  readonly problem: string;
}

const performanceFields = { latency: oneOf(latencies) };

const guardrailFields = {
  guardrailIdentifier: shaped(guardrailShape, 'must be the id or the ARN of a guardrail.'),
  guardrailVersion: shaped(guardrailVersionShape, 'must be a version number or `DRAFT`.'),
  trace: oneOf(guardrailTraces),
};

const streamGuardrailFields = { ...guardrailFields, streamProcessingMode: oneOf(streamProcessingModes) };

const readers: Readonly<Record<string, Read>> = {
  requestMetadata,
  performanceConfig: (given) => fieldsOf(given, performanceFields),
  guardrailConfig,
  additionalModelResponseFieldPaths,
  serviceTier,
};

/** Reads an object of known, optional fields, and returns it in the platform's own spelling. */
function fieldsOf(
  { path, value }: Spelled,
  rules: Readonly<Record<string, FieldRule>>,
): Either<GatewayError, JsonObject> {
  if (!isObject(value)) return E.left(fieldError(path, 'must be an object.'));
  const known = new Set(Object.keys(rules).flatMap(spellingsOf));
  const unknown = Object.keys(value).find((field) => !known.has(field));
  if (unknown !== undefined)
    return E.left(fieldError(`${path}.${namedKey(unknown)}`, 'is not a field of it.'));
  const fields: Record<string, Json> = {};
  for (const [name, rule] of Object.entries(rules)) {
    const given = spelled(value, name, `${path}.`);
    if (E.isLeft(given)) return given;
    if (given.right === undefined) continue;
    if (!rule.is(given.right.value)) return E.left(fieldError(given.right.path, rule.problem));
    fields[name] = given.right.value;
  }
  return E.right(fields);
}

/** A guardrail must have both id and version, or neither. Its stream processing mode is for streamed requests only. */
function guardrailConfig(given: Spelled, stream: boolean): Either<GatewayError, Json> {
  const { path, value } = given;
  if (!stream && isObject(value)) {
    const mode = spelled(value, 'streamProcessingMode', `${path}.`);
    if (E.isLeft(mode)) return mode;
    if (mode.right !== undefined)
      return E.left(fieldError(mode.right.path, 'is for streamed requests, and this one is not.'));
  }
  const fields = fieldsOf(given, streamGuardrailFields);
  if (E.isLeft(fields)) return fields;
  const { guardrailIdentifier, guardrailVersion } = fields.right;
  if ((guardrailIdentifier === undefined) !== (guardrailVersion === undefined))
    return E.left(
      fieldError(path, 'must have both `guardrailIdentifier` and `guardrailVersion`, or neither.'),
    );
  return fields;
}

function requestMetadata({ path, value }: Spelled): Either<GatewayError, Json> {
  if (!isObject(value)) return E.left(fieldError(path, 'must be an object.'));
  const entries = Object.entries(value);
  if (entries.length === 0 || entries.length > maxMetadataEntries)
    return E.left(fieldError(path, `must have 1 to ${maxMetadataEntries} entries.`));
  for (const [key, entry] of entries) {
    const at = `${path}.${namedKey(key)}`;
    if (!metadataKeyShape.test(key))
      return E.left(fieldError(at, `has a key that is not 1 to 256 ${metadataAlphabet}`));
    if (!isString(entry) || !metadataValueShape.test(entry))
      return E.left(fieldError(at, `must be a string of at most 256 ${metadataAlphabet}`));
  }
  return E.right(value);
}

const metadataAlphabet = 'letters, digits, blanks and `:_@$#=/+,-.`';

const serviceTierFields = { type: oneOf(serviceTiers) };

/** The platform's own `{type}`, or the string of chat completions, in which `auto` leaves the tier to the upstream. */
function serviceTier(given: Spelled): Either<GatewayError, Json | undefined> {
  const { path, value } = given;
  if (value === 'auto') return E.right(undefined);
  if (isString(value))
    return serviceTierFields.type.is(value)
      ? E.right({ type: value })
      : E.left(
          fieldError(
            path,
            `is \`${namedKey(value)}\`, which this model's route does not have: ${serviceTierFields.type.problem}`,
          ),
        );
  const fields = fieldsOf(given, serviceTierFields);
  if (E.isLeft(fields)) return fields;
  return fields.right['type'] === undefined
    ? E.left(fieldError(`${path}.type`, serviceTierFields.type.problem))
    : fields;
}

/** JSON pointers (RFC 6901). The platform rejects the empty one, which points to the whole answer. */
function additionalModelResponseFieldPaths({ path, value }: Spelled): Either<GatewayError, Json> {
  if (!isArray(value)) return E.left(fieldError(path, 'must be an array of JSON pointers.'));
  if (value.length > maxFieldPaths)
    return E.left(fieldError(path, `must have at most ${maxFieldPaths} entries.`));
  const bad = value.findIndex((each) => !isPointer(each));
  return bad < 0
    ? E.right(value)
    : E.left(
        fieldError(
          `${path}[${bad}]`,
          `must be a JSON pointer (RFC 6901) of 1 to ${maxFieldPathChars} characters.`,
        ),
      );
}

const isPointer = (value: Json): boolean =>
  isString(value) &&
  value.length <= 2 * maxFieldPathChars &&
  Array.from(value).length <= maxFieldPathChars &&
  /^(?:\/(?:[^~/]|~[01])*)+$/.test(value);
