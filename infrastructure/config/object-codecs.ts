import * as E from 'fp-ts/lib/Either.js';
import * as t from 'io-ts';
import { type Json, type JsonObject, isArray, isObject } from '../../domain/shared/json.ts';
import { nearestOf } from '../../domain/shared/nearest.ts';
import { type Codec, codecOf } from './scalar-codecs.ts';
import type { FieldShape, ObjectShape, Presence, TaggedShape } from './shape.ts';
import { shownKey } from './shown-key.ts';

/** A member of an object: how to read it, even when it is absent, and its documentation. */
export interface Field<A> extends FieldShape {
  readonly codec: Codec<unknown>;
  readonly read: (input: unknown, context: t.Context) => t.Validation<A>;
}

type Fields = Readonly<Record<string, Field<unknown>>>;
export type Decoded<F extends Fields> = {
  readonly [K in keyof F]: F[K] extends Field<infer A> ? A : never;
};

const field = <A>(
  codec: Codec<unknown>,
  doc: string,
  presence: Presence,
  read: (input: unknown, context: t.Context) => t.Validation<A>,
): Field<A> => ({ codec, doc, presence, shape: codec.shape, read });

/** `key:` with nothing after it is null in YAML, which nobody means as a value of its own. */
const isAbsent = (input: unknown): input is undefined | null => input === undefined || input === null;

export const required = <A>(codec: Codec<A>, doc: string): Field<A> =>
  field(codec, doc, { kind: 'required' }, (input, context) =>
    isAbsent(input) ? t.failure(input, context, 'is required') : codec.validate(input, context),
  );

export const optional = <A>(codec: Codec<A>, doc: string): Field<A | undefined> =>
  field(codec, doc, { kind: 'optional' }, (input, context) =>
    isAbsent(input) ? t.success(undefined) : codec.validate(input, context),
  );

/** `input` is the default as the file would write it; a section whose members all have defaults takes `{}`. */
export const withDefault = <A>(codec: Codec<A>, input: Json, doc: string): Field<A> =>
  field(codec, doc, { kind: 'default', input }, (given, context) =>
    codec.validate(isAbsent(given) ? input : given, context),
  );

/** The type of a context's last entry when its key should not be there: the problem is the key, not its value. */
export const unknownKey = t.never;

/** An object of exactly these members. Unknown keys are errors that name the nearest known one. */
export function object<F extends Fields>(fields: F): Codec<Decoded<F>> {
  const shape: ObjectShape = { kind: 'object', fields };
  return codecOf('an object', shape, (input, context) => readFields(fields, [], input, context));
}

function readFields<F extends Fields>(
  fields: F,
  otherKeys: readonly string[],
  input: unknown,
  context: t.Context,
): t.Validation<Decoded<F>> {
  if (!isMapping(input)) return t.failure(input, context, 'must be an object (keys and values)');
  const decoded: Record<string, unknown> = {};
  const errors: t.ValidationError[] = [];
  for (const [key, { codec, read }] of Object.entries(fields)) {
    const member = read(input[key], t.appendContext(context, key, codec, input[key]));
    if (E.isRight(member)) decoded[key] = member.right;
    else for (const error of member.left) errors.push(error);
  }
  const known = [...otherKeys, ...Object.keys(fields)];
  for (const key of Object.keys(input).filter((each) => !known.includes(each)))
    errors.push({
      value: undefined,
      context: t.appendContext(context, key, unknownKey),
      message: unknownKeyMessage(key, known),
    });
  return errors.length === 0 ? t.success(decoded as Decoded<F>) : t.failures(errors);
}

const unknownKeyMessage = (key: string, known: readonly string[]): string => {
  const shown = shownKey(key);
  const [close] = nearestOf(shown, known, 1);
  return `unknown key \`${shown}\`${close === undefined ? '' : `, did you mean \`${close}\`?`}`;
};

const isMapping = (input: unknown): input is JsonObject =>
  input !== undefined && typeof input === 'object' && isObject(input as Json);

type Tagged<T extends string, C extends Readonly<Record<string, Fields>>> = {
  readonly [K in keyof C & string]: { readonly [_ in T]: K } & Decoded<C[K]>;
}[keyof C & string];

/** One of several objects, distinguished by the value of `tag`. */
export function tagged<const T extends string, C extends Readonly<Record<string, Fields>>>(
  tag: T,
  doc: string,
  cases: C,
): Codec<Tagged<T, C>> {
  const objects = Object.fromEntries(
    Object.entries(cases).map(([word, fields]) => [word, { kind: 'object', fields } as const]),
  );
  const shape: TaggedShape = { kind: 'tagged', tag, doc, cases: objects };
  const words = Object.keys(cases);
  return codecOf(words.join(' | '), shape, (input, context) => {
    if (!isMapping(input)) return t.failure(input, context, `must be an object with the key \`${tag}\``);
    const word = input[tag];
    const fields = typeof word === 'string' && Object.hasOwn(cases, word) ? cases[word] : undefined;
    if (fields === undefined)
      return t.failure(
        word,
        t.appendContext(context, tag, t.string, word),
        `${isAbsent(word) ? 'is required' : 'is unknown'}, one of: ${words.join(', ')}`,
      );
    const members = readFields(fields, [tag], input, context);
    return E.isLeft(members) ? members : t.success({ [tag]: word, ...members.right } as Tagged<T, C>);
  });
}

/** At most `maxItems` of the same kind, in file order. */
export const list = <A>(of: Codec<A>, maxItems: number): Codec<readonly A[]> =>
  codecOf('a list', { kind: 'list', of: of.shape, maxItems }, (input, context) => {
    if (!isArray(input as Json)) return t.failure(input, context, 'must be a list');
    const items = input as readonly unknown[];
    if (items.length > maxItems) return t.failure(input, context, `must have at most ${maxItems} items`);
    const read = items.map((item, index) =>
      of.validate(item, t.appendContext(context, String(index), of, item)),
    );
    const errors = read.flatMap((item) => (E.isLeft(item) ? item.left : []));
    return errors.length > 0
      ? t.failures(errors)
      : t.success(read.flatMap((item) => (E.isRight(item) ? [item.right] : [])));
  });

/** A scalar, or an object that says the same in more detail. */
export const scalarOrObject = <A, B>(scalar: Codec<A>, detailed: Codec<B>): Codec<A | B> =>
  codecOf<A | B>(
    `${scalar.name}, or an object`,
    { kind: 'scalar-or-object', scalar: scalar.shape, object: detailed.shape },
    (input, context) =>
      isMapping(input) ? detailed.validate(input, context) : scalar.validate(input, context),
  );

/** A broken rule between the members of one object; `at` is the path of the member to blame. */
export interface Fault {
  readonly at: readonly string[];
  readonly message: string;
}

/** A codec with rules between its members. */
export const refined = <A>(codec: Codec<A>, faultsOf: (value: A) => readonly Fault[]): Codec<A> =>
  codecOf(codec.name, codec.shape, (input, context) => {
    const read = codec.validate(input, context);
    if (E.isLeft(read)) return read;
    const errors = faultsOf(read.right).map(({ at, message }) => ({
      value: undefined,
      context: at.reduce((inner, key) => t.appendContext(inner, key, codec), context),
      message,
    }));
    return errors.length === 0 ? read : t.failures(errors);
  });

/** Whether a `number` holds every integer exactly. Others would reach the upstream with different digits. */
const isExact = (value: Json | undefined): boolean => {
  if (typeof value === 'number') return !Number.isInteger(value) || Number.isSafeInteger(value);
  if (isArray(value)) return value.every(isExact);
  return isObject(value) ? Object.values(value).every(isExact) : true;
};

/** Any JSON object, passed through unchanged. */
export const jsonObject: Codec<JsonObject> = codecOf(
  'an object',
  { kind: 'json-object' },
  (input, context) => {
    if (!isMapping(input)) return t.failure(input, context, 'must be an object (keys and values)');
    return isExact(input)
      ? t.success(input)
      : t.failure(input, context, 'holds an integer beyond 9007199254740991, which would lose digits');
  },
);
