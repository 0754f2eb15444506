import { isObject, isArray, isString, type Json, type JsonObject } from '../../../domain/shared/json.ts';

const recordsIn = (value: Json | undefined): readonly JsonObject[] =>
  isArray(value) ? value.filter(isObject) : [];

/** The tokens that were chosen and those that were likely, where the upstream gives them. */
export function logprobsOf({ logprobsResult }: JsonObject): JsonObject | null {
  if (!isObject(logprobsResult)) return null;
  const { chosenCandidates, topCandidates } = logprobsResult;
  const likely = recordsIn(topCandidates);
  const content = recordsIn(chosenCandidates).map((chosen, position) => ({
    ...tokenOf(chosen),
    top_logprobs: recordsIn(likely[position]?.['candidates']).map(tokenOf),
  }));
  return { content, refusal: null };
}

const tokenOf = ({ token, logProbability }: JsonObject): JsonObject => ({
  token: isString(token) ? token : '',
  logprob: logProbability ?? 0,
  bytes: null,
});
