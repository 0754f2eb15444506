import type { ApiFamily } from '../routing/model.ts';
import { isAbsent, isArray, isString, type Json, type JsonObject } from '../shared/json.ts';

/** What a log row tells of a body, also of one that was refused. */
export interface BodySummary {
  readonly model: string | undefined;
  readonly stream: boolean;
  /** Undefined where it is not known, or the family has no such dimension. */
  readonly exposedToolCount: number | undefined;
}

/** Where each family has its tools; embeddings have none, and those of a count are shown to no model. */
const toolFields: Readonly<Record<ApiFamily, readonly string[]>> = {
  chat_completions: ['tools', 'functions'],
  messages: ['tools'],
  responses: ['tools'],
  embeddings: [],
  count_tokens: [],
};

/** A body that is refused names its model all the same (rule 6.27): who looks for a model's requests finds it. */
export function summaryOfRefused(family: ApiFamily, body: JsonObject): BodySummary {
  const { model, stream } = body;
  const fields = toolFields[family];
  return {
    model: isString(model) && model !== '' ? model : undefined,
    stream: stream === true && fields.length > 0,
    exposedToolCount: fields.length > 0 ? countedIn(fields.map((field) => body[field])) : undefined,
  };
}

/** Tools in something that is no list cannot be counted. */
function countedIn(lists: readonly (Json | undefined)[]): number | undefined {
  const there = lists.filter((list) => !isAbsent(list));
  return there.every(isArray) ? there.reduce((count, list) => count + list.length, 0) : undefined;
}
