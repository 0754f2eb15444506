import { spellingsOf } from './spellings.ts';
import { isAbsent, isArray, isObject, type Json, type JsonObject, numberOf } from '../shared/json.ts';

/** Fields that an upstream has no equivalent for, each with a check for values that ask for nothing. */
export type ForeignFields = readonly (readonly [field: string, saysNothing: (value: Json) => boolean])[];

/** The first of these fields that asks for something in a body. */
export const foreignIn = (body: JsonObject, fields: ForeignFields): string | undefined =>
  fields.find(([field, saysNothing]) => {
    const value = body[field];
    return !isAbsent(value) && !saysNothing(value);
  })?.[0];

const isEmpty = (value: Json): boolean =>
  isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0;
const isZero = (value: Json): boolean => numberOf(value) === 0;
const never = (): boolean => false;

/** Controls of a chat body that change the answer, each with a check for values that ask for nothing. */
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
  verbosity: (value) => value === 'medium',
  functions: isEmpty,
  function_call: (value) => value === 'auto' || value === 'none',
  // Platform A's own fields, as in its compatible API.
  cachedContent: never,
  imageConfig: isEmpty,
  responseModalities: isEmpty,
  safetySettings: isEmpty,
  thinkingConfig: isEmpty,
  google: isEmpty,
  extra_body: isEmpty,
  // Platform B's own fields.
  additionalModelRequestFields: isEmpty,
  additionalModelResponseFieldPaths: isEmpty,
  guardrailConfig: never,
  outputConfig: isEmpty,
} as const satisfies Readonly<Record<string, (value: Json) => boolean>>;

/** The platforms' own controls. */
export const controlsOfA = [
  'cachedContent',
  'imageConfig',
  'responseModalities',
  'safetySettings',
  'thinkingConfig',
  'google',
  'extra_body',
] as const satisfies readonly (keyof typeof chatControls)[];
export const controlsOfB = [
  'additionalModelRequestFields',
  'additionalModelResponseFieldPaths',
  'guardrailConfig',
  'outputConfig',
] as const satisfies readonly (keyof typeof chatControls)[];

/** The controls that a body has no equivalent for, in the order of rejection, in every spelling of callers. */
export const withoutControls = (...names: readonly (keyof typeof chatControls)[]): ForeignFields =>
  names.flatMap((name) => spellingsOf(name).map((field) => [field, chatControls[name]] as const));
