import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { disagreement, fieldError } from '../shared/field-errors.ts';
import type { GatewayError } from '../shared/gateway-error.ts';
import { isAbsent, isArray, isString, type Json, type JsonObject, numberOf } from '../shared/json.ts';
import type { EmbeddingModel } from './embedding-models.ts';

/** What is requested from a native platform: one embedding for each text. */
export interface TextEmbeddings {
  readonly texts: readonly string[];
  readonly dimensions: number | undefined;
  readonly taskType: string | undefined;
  readonly title: string | undefined;
  readonly autoTruncate: boolean | undefined;
}

/**
 * Texts per request: as many as the platform accepts in one of its own. With 3072 dimensions the answer then has 16
 * MiB, and it is buffered until it is complete.
 */
const maxTexts = 250;

/** Controls that only predict models have. */
const predictOnly = ['task_type', 'input_type', 'title', 'auto_truncate', 'autoTruncate'] as const;

/** Members in which other APIs take what is to be embedded. Rejected, because they would be lost silently. */
const otherPayloads = [
  'image',
  'images',
  'video',
  'audio',
  'file',
  'content',
  'contents',
  'instances',
  'messages',
] as const;

/** Reads a caller's embeddings body for a native text-embedding model. Unknown members are ignored. */
export function readTextEmbeddings(
  body: JsonObject,
  upstreamModel: string,
  model: EmbeddingModel,
): Either<GatewayError, TextEmbeddings> {
  const unsupported = model.method === 'predict' ? otherPayloads : [...otherPayloads, ...predictOnly];
  const name = unsupported.find((each) => !isAbsent(body[each]));
  if (name !== undefined) return E.left(fieldError(name, `is not supported by \`${upstreamModel}\`.`));
  const refusal = encodingError(body['encoding_format']) ?? inputError(body['input']);
  if (refusal !== undefined) return E.left(refusal);
  const dimensions = oneOf(body, dimensionsNamed(model.maxDimensions));
  if (E.isLeft(dimensions)) return dimensions;
  const taskType = oneOf(body, taskTypeNamed);
  if (E.isLeft(taskType)) return taskType;
  const title = oneOf(body, titleNamed);
  if (E.isLeft(title)) return title;
  if (title.right !== undefined && taskType.right !== 'RETRIEVAL_DOCUMENT')
    return E.left(fieldError('title', 'is only for the `task_type` `RETRIEVAL_DOCUMENT`.'));
  return pipe(
    oneOf(body, autoTruncateNamed),
    E.map((autoTruncate) => ({
      texts: textsOf(body['input']),
      dimensions: dimensions.right,
      taskType: taskType.right,
      title: title.right,
      autoTruncate,
    })),
  );
}

/** The texts of a valid `input`. A string is one text. */
const textsOf = (input: Json | undefined): readonly string[] =>
  isArray(input) ? input.filter(isString) : isString(input) ? [input] : [];

/** Vectors are returned as floats. The official SDKs ask for base64 unless told otherwise. */
function encodingError(format: Json | undefined): GatewayError | undefined {
  if (isAbsent(format) || format === 'float') return undefined;
  return fieldError(
    'encoding_format',
    'must be `float` for this model: send `encoding_format: "float"`; some clients ask for base64 unless they are told.',
  );
}

function inputError(input: Json | undefined): GatewayError | undefined {
  const items = isArray(input) ? input : [input ?? null];
  if (items.length === 0) return fieldError('input', 'must not be empty.');
  if (items.length > maxTexts)
    return fieldError('input', `has ${items.length} texts; send at most ${maxTexts} at once.`);
  const at = items.findIndex((item) => textProblem(item) !== undefined);
  return at < 0
    ? undefined
    : fieldError(isArray(input) ? `input[${at}]` : 'input', `${textProblem(items[at] ?? null)}.`);
}

/** Only text is embedded: no tokens, no nested lists, no content parts, no base64 payloads. */
function textProblem(item: Json): string | undefined {
  if (!isString(item)) return 'must be a string: this model takes text, not tokens or content parts';
  if (item === '') return 'must not be empty';
  return /^data:[^,]{0,256};base64,/i.test(item) ? 'holds base64 data: this model takes text' : undefined;
}

/** A control, with all its names. */
interface Named<A> {
  readonly names: readonly string[];
  readonly is: string;
  readonly read: (value: Json) => A | undefined;
}

const dimensionsNamed = (max: number): Named<number> => ({
  names: ['dimensions', 'output_dimensionality', 'outputDimensionality'],
  is: `an integer from 1 to ${max} for this model`,
  read: (value) => {
    const count = numberOf(value);
    return Number.isInteger(count) && count !== undefined && count >= 1 && count <= max ? count : undefined;
  },
});

const aText = (value: Json): string | undefined => (isString(value) && value !== '' ? value : undefined);

const taskTypeNamed: Named<string> = {
  names: ['task_type', 'input_type'],
  is: 'a non-empty string',
  read: aText,
};

const titleNamed: Named<string> = { names: ['title'], is: 'a non-empty string', read: aText };

const autoTruncateNamed: Named<boolean> = {
  names: ['auto_truncate', 'autoTruncate'],
  is: 'a boolean',
  read: (value) => (typeof value === 'boolean' ? value : undefined),
};

/** The control's value under any of its names. Names with different values are an error. */
function oneOf<A>(body: JsonObject, { names, is, read }: Named<A>): Either<GatewayError, A | undefined> {
  let first: { readonly name: string; readonly value: A } | undefined;
  for (const name of names) {
    const given = body[name];
    if (isAbsent(given)) continue;
    const value = read(given);
    if (value === undefined) return E.left(fieldError(name, `must be ${is}.`));
    if (first !== undefined && first.value !== value) return E.left(disagreement(name, first.name));
    first ??= { name, value };
  }
  return E.right(first?.value);
}
