import type { ApiFamily } from '../routing/model.ts';
import { isAbsent, isArray, isString, type Json, type JsonObject } from '../shared/json.ts';

/** What a log row says about a body, also about a refused one. */
export interface BodySummary {
  readonly model: string | undefined;
  readonly stream: boolean;
  /** `undefined` when it is not known, or the family has no such dimension. */
  readonly exposedToolCount: number | undefined;
}

/**
 * The fields in which each family has its tools. Embeddings have none, and the tools of a token count are shown to no
 * model.
 */
const toolFields: Readonly<Record<ApiFamily, readonly string[]>> = {
  chat_completions: ['tools', 'functions'],
  messages: ['tools'],
  responses: ['tools'],
  embeddings: [],
  count_tokens: [],
};

/** The log names the model of a refused body, too (rule 6.27), so that a search for the model's requests finds it. */
export function summaryOfRefused(family: ApiFamily, body: JsonObject): BodySummary {
  const { model, stream } = body;
  const fields = toolFields[family];
  return {
    model: isString(model) && model !== '' ? model : undefined,
    stream: stream === true && fields.length > 0,
    exposedToolCount: fields.length > 0 ? countedIn(fields.map((field) => body[field])) : undefined,
  };
}

/** The number of tools in these lists; `undefined` when one is not a list. */
function countedIn(lists: readonly (Json | undefined)[]): number | undefined {
  const there = lists.filter((list) => !isAbsent(list));
  return there.every(isArray) ? there.reduce((count, list) => count + list.length, 0) : undefined;
}
