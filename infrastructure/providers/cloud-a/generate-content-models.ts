/**
 * The generation of a Gemini model: the first separate number in its id (`gemini-2.5-pro`, `gemini-live-2.5-flash`). A
 * Gemini model whose id has no such number is treated as one of the newest. Other models have no generation.
 */
function generationOf(model: string): number | undefined {
  if (!/^gemini(-|$)/.test(model)) return undefined;
  const [, version] = /-(\d+(?:\.\d+)?)(?=-|@|$)/.exec(model) ?? [];
  return version === undefined ? Number.POSITIVE_INFINITY : Number(version);
}

/** Generation 3 and later take a level of thinking, earlier ones a number of tokens. */
export const thinksInLevels = (model: string): boolean => (generationOf(model) ?? 0) >= 3;

const isPro25 = (model: string): boolean => /^gemini-2\.5-pro(-|@|$)/.test(model);

/** The maximum thinking budget, for models that take one: the platform documents 32,768 tokens for 2.5 Pro. */
export const highestBudget = (model: string): number => (isPro25(model) ? 32_768 : 24_576);

/** The minimum thinking budget: thinking cannot be turned off for 2.5 Pro, which takes no number below 128. */
export const lowestBudget = (model: string): number => (isPro25(model) ? 128 : 0);

/**
 * The lowest thinking level: thinking cannot be turned off for models of these generations. Only flash models before
 * 3.7 take `MINIMAL`, and all others reject it: https://docs.cloud.google.com/vertex-ai/generative-ai/docs/thinking
 */
export const lowestLevel = (model: string): string =>
  /-flash(-|@|$)/.test(model) && (generationOf(model) ?? 0) < 3.7 ? 'MINIMAL' : 'LOW';

/**
 * The highest thinking level. Only one model has a level above `HIGH`, and all others reject it:
 * https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/guides/gemini-4-hydrogen
 */
export const highestLevel = (model: string): string =>
  /^gemini-4-hydrogen(-|@|$)/.test(model) ? 'XHIGH' : 'HIGH';

/**
 * Models of generation 3 and later reject a call of theirs that is sent back without its thought signature. If the
 * caller did not keep it, this value replaces it: the platform documents it for calls without a signature.
 */
export const signatureFor = (model: string): string | undefined =>
  thinksInLevels(model) ? 'skip_thought_signature_validator' : undefined;
