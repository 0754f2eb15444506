import { isObject, isString, type JsonObject, objectsOf } from '../../../domain/shared/json.ts';

/** The chosen tokens and the most likely ones, if the upstream reports them. */
export function logprobsOf({ logprobsResult }: JsonObject): JsonObject | null {
  if (!isObject(logprobsResult)) return null;
  const { chosenCandidates, topCandidates } = logprobsResult;
  const likely = objectsOf(topCandidates);
  const content = objectsOf(chosenCandidates).map((chosen, position) => ({
    ...tokenOf(chosen),
    top_logprobs: objectsOf(likely[position]?.['candidates']).map(tokenOf),
  }));
  return { content, refusal: null };
}

const tokenOf = ({ token, logProbability }: JsonObject): JsonObject => ({
  token: isString(token) ? token : '',
  logprob: logProbability ?? 0,
  bytes: null,
});
