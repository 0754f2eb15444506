import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { isObject, isAbsent, isString, type Json, type JsonObject } from '../../../domain/shared/json.ts';
import { fieldError, unavailableField } from '../../../domain/shared/field-errors.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { namedKey } from '../../../domain/shared/named-key.ts';

/** Members of the messages family's `output_config`. The thinking policy handles its `effort`. */
const messagesMembers = ['effort', 'format', 'task_budget'] as const;

interface OutputRequest {
  readonly path: string;
  readonly textFormat: Json;
}

/**
 * The platform's `outputConfig`: its own, in either spelling, or the `format` of the messages family's `output_config`,
 * which has the same name in snake case. Members that the platform cannot express are rejected by name.
 */
export function outputConfig(body: JsonObject): Either<GatewayError, JsonObject> {
  const { outputConfig: own, output_config: shared } = body;
  const asked: OutputRequest[] = [];
  for (const [path, config] of [
    ['outputConfig', own],
    ['output_config', shared],
  ] as const) {
    if (isAbsent(config)) continue;
    if (!isObject(config)) return E.left(fieldError(path, 'must be an object.'));
    const read = path === 'outputConfig' ? ownFormats(config, path) : sharedFormats(config, path);
    if (E.isLeft(read)) return read;
    asked.push(...read.right);
  }
  const [first, second] = asked;
  if (second !== undefined)
    return E.left(fieldError(second.path, `and \`${first?.path ?? ''}\` are the same: send one of them.`));
  return E.right(first === undefined ? {} : { outputConfig: { textFormat: first.textFormat } });
}

type Formats = Either<GatewayError, readonly OutputRequest[]>;

const platformMembers = ['textFormat', 'text_format'] as const;

function ownFormats(config: JsonObject, path: string): Formats {
  const unknown = foreignMember(config, platformMembers);
  if (unknown === 'effort')
    return E.left(fieldError(`${path}.effort`, 'is not sent: ask for it in `output_config.effort`.'));
  if (unknown !== undefined)
    return E.left(fieldError(`${path}.${namedKey(unknown)}`, 'is not a field of it.'));
  return E.right(platformFormats(config, path));
}

const platformFormats = (config: JsonObject, path: string): readonly OutputRequest[] =>
  platformMembers.flatMap((name) => {
    const value = config[name];
    return isAbsent(value) ? [] : [{ path: `${path}.${name}`, textFormat: value }];
  });

function sharedFormats(config: JsonObject, path: string): Formats {
  const unknown = foreignMember(config, [...messagesMembers, ...platformMembers]);
  if (unknown !== undefined || !isAbsent(config['task_budget']))
    return E.left(unavailableField(`${path}.${namedKey(unknown ?? 'task_budget')}`));
  const own = platformFormats(config, path);
  if (isAbsent(config['format'])) return E.right(own);
  return pipe(
    schemaFormat(config['format'], `${path}.format`),
    E.map((textFormat) => [...own, { path: `${path}.format`, textFormat }]),
  );
}

const foreignMember = (config: JsonObject, known: readonly string[]): string | undefined =>
  Object.keys(config).find((key) => !known.includes(key) && !isAbsent(config[key]));

/** Translates `{type: json_schema, schema}`. The platform takes the schema as JSON text. */
function schemaFormat(format: Json | undefined, path: string): Either<GatewayError, JsonObject> {
  if (!isObject(format)) return E.left(fieldError(path, 'must be an object.'));
  const { type, schema, name } = format;
  if (type !== 'json_schema') return E.left(fieldError(`${path}.type`, 'must be `json_schema`.'));
  if (!isObject(schema)) return E.left(fieldError(`${path}.schema`, 'must be an object.'));
  const jsonSchema = { schema: JSON.stringify(schema), ...(isString(name) ? { name } : {}) };
  return E.right({ type: 'json_schema', structure: { jsonSchema } });
}
