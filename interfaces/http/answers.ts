import * as t from 'io-ts';
import { type Picodollars, toUsd, toUsd10000 } from '../../domain/money/money.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { JsonText } from './json-text.ts';

/**
 * A value in an answer, with its JSON Schema. Answers are built and never parsed: the codec gives a route's result its
 * type, and the schema says the same to readers of the API description.
 */
export class Value<A> extends t.Type<A> {
  readonly _tag = 'Value' as const;
  readonly schema: JsonObject;

  constructor(name: string, is: t.Is<A>, schema: JsonObject) {
    super(
      name,
      is,
      (given, context) => (is(given) ? t.success(given) : t.failure(given, context)),
      t.identity,
    );
    this.schema = schema;
  }
}

const isText = (given: unknown): given is string => typeof given === 'string';
const isNumber = (given: unknown): given is number => typeof given === 'number';

export const textValue = new Value('text', isText, { type: 'string' });
export const uuidValue = new Value('uuid', isText, { type: 'string', format: 'uuid' });
/** RFC 3339, in UTC. */
export const instantValue = new Value('instant', isText, { type: 'string', format: 'date-time' });
/** A UTC day, as in `2026-01-31`. */
export const dayValue = new Value('day', isText, { type: 'string', format: 'date' });
export const dayText = (at: Date): string => at.toISOString().slice(0, 'YYYY-MM-DD'.length);
export const flagValue = new Value('flag', (given): given is boolean => typeof given === 'boolean', {
  type: 'boolean',
});
/** A non-negative whole number. */
export const countValue = new Value('count', isNumber, { type: 'integer', minimum: 0 });
export const numberValue = new Value('number', isNumber, { type: 'number' });

/** One of these words. */
export const choiceValue = <const W extends string>(words: readonly [W, ...W[]]): Value<W> =>
  new Value('word', (given): given is W => words.some((each) => each === given), { enum: words });

/** JSON that was stored as text. It may be any value. */
export const jsonValue = new Value('JSON', (given): given is JsonText => given instanceof JsonText, {
  description: 'Any JSON.',
});

/** The value, or null when it is missing. */
export const orNull = <C extends t.Mixed>(codec: C): t.UnionC<[C, t.NullC]> => t.union([codec, t.null]);

export const arrayOf = <C extends t.Mixed>(codec: C): t.ReadonlyArrayC<C> => t.readonlyArray(codec);

/** An object with exactly these members, all of them required. */
export const objectOf = <P extends t.Props>(members: P): t.ExactC<t.TypeC<P>> => t.exact(t.type(members));

type MoneyFields<N extends string> = {
  readonly [K in `${N}_usd` | `${N}_usd_10000`]: K extends `${N}_usd` ? string : number;
};
type MoneyValues<N extends string> = {
  [K in `${N}_usd` | `${N}_usd_10000`]: K extends `${N}_usd` ? Value<string> : Value<number>;
};

/** US dollars as exact decimal text. */
export const usdValue = new Value('USD', isText, {
  type: 'string',
  pattern: '^-?\\d+(\\.\\d+)?$',
  examples: ['0.25'],
});

/** The members that {@link moneyFields} returns. */
export const moneyValues = <N extends string>(name: N): MoneyValues<N> =>
  ({
    [`${name}_usd`]: usdValue,
    [`${name}_usd_10000`]: new Value('USD in 1/10,000', isNumber, { type: 'integer' }),
  }) as MoneyValues<N>;

/** JSON shows money twice (rule 36.6): exact decimal text, and rounded for display. */
export const moneyFields = <N extends string>(name: N, amount: Picodollars): MoneyFields<N> =>
  ({
    [`${name}_usd`]: toUsd(amount),
    [`${name}_usd_10000`]: Number(toUsd10000(amount)),
  }) as MoneyFields<N>;

/** `{items, page, page_size, total, total_is_lower_bound}` (rule 40.2). */
export const pageValue = <C extends t.Mixed>(item: C) =>
  objectOf({
    items: arrayOf(item),
    page: countValue,
    page_size: countValue,
    total: countValue,
    total_is_lower_bound: flagValue,
  });

/** Codecs whose schema is composed of the schemas of their parts. io-ts tells them apart by tag. */
type Composed =
  | t.ExactType<t.InterfaceType<t.Props>>
  | t.ReadonlyArrayType<t.Mixed>
  | t.UnionType<t.Mixed[]>
  | t.NullType
  | Value<unknown>;

/** The JSON Schema (2020-12) of a codec from this file. */
export function answerSchema(codec: t.Mixed): JsonObject {
  const known = codec as Composed;
  switch (known._tag) {
    case 'Value':
      return known.schema;
    case 'NullType':
      return { type: 'null' };
    case 'ReadonlyArrayType':
      return { type: 'array', items: answerSchema(known.type) };
    case 'UnionType':
      return known.types.some((each) => each === jsonValue)
        ? answerSchema(jsonValue)
        : { anyOf: known.types.map(answerSchema) };
    case 'ExactType':
      return recordSchema(known.type.props);
  }
}

const recordSchema = (members: t.Props): JsonObject => ({
  type: 'object',
  properties: Object.fromEntries(Object.entries(members).map(([name, codec]) => [name, answerSchema(codec)])),
  required: Object.keys(members),
  additionalProperties: false,
});
