import { isAbsent, isArray, isObject, type Json, type JsonObject, numberOf } from '../shared/json.ts';

/** Fields that an upstream has no word for, each with what makes it say nothing. */
export type ForeignFields = readonly (readonly [field: string, saysNothing: (value: Json) => boolean])[];

/** The first of them that asks for something in a body. */
export const foreignIn = (body: JsonObject, fields: ForeignFields): string | undefined =>
  fields.find(([field, saysNothing]) => {
    const value = body[field];
    return !isAbsent(value) && !saysNothing(value);
  })?.[0];

const isEmpty = (value: Json): boolean =>
  isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0;
const isZero = (value: Json): boolean => numberOf(value) === 0;
const never = (): boolean => false;

/** Controls of a chat body that change the answer, each with what makes it say nothing. */
const chatControls = {
  n: (value) => numberOf(value) === 1,
  presence_penalty: isZero,
  frequency_penalty: isZero,
  seed: never,
  logit_bias: isEmpty,
  logprobs: (value) => value === false,
  top_logprobs: isZero,
  modalities: (value) => isArray(value) && value.every((each) => each === 'text'),
  audio: never,
  web_search_options: never,
  moderation: never,
  guardrailConfig: never,
  guardrail_config: never,
  verbosity: (value) => value === 'medium',
  functions: isEmpty,
  function_call: (value) => value === 'auto' || value === 'none',
} as const satisfies Readonly<Record<string, (value: Json) => boolean>>;

/** Those of them that a body has no word for, in the order in which they are refused. */
export const withoutControls = (...names: readonly (keyof typeof chatControls)[]): ForeignFields =>
  names.map((name) => [name, chatControls[name]]);
