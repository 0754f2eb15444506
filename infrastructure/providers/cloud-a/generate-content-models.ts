/**
 * The generation of a Gemini model: the first number of its id that stands alone (`gemini-2.5-pro`,
 * `gemini-live-2.5-flash`). A Gemini model whose id has none is taken for one of the newest; other models have none.
 */
function generationOf(model: string): number | undefined {
  if (!/^gemini(-|$)/.test(model)) return undefined;
  const [, version] = /-(\d+(?:\.\d+)?)(?=-|@|$)/.exec(model) ?? [];
  return version === undefined ? Number.POSITIVE_INFINITY : Number(version);
}

/** Generation 3 and later take a level of thinking, earlier ones a number of tokens. */
export const thinksInLevels = (model: string): boolean => (generationOf(model) ?? 0) >= 3;

const isPro25 = (model: string): boolean => /^gemini-2\.5-pro(-|@|$)/.test(model);

/** The most tokens that a model may think, where it takes a number: the platform documents 32,768 for 2.5 Pro. */
export const highestBudget = (model: string): number => (isPro25(model) ? 32_768 : 24_576);

/** The fewest: 2.5 Pro cannot be told not to think, and takes no number below 128. */
export const lowestBudget = (model: string): number => (isPro25(model) ? 128 : 0);

/**
 * The level of the least thinking, without which no model of these generations is. `MINIMAL` is known to flash models
 * before 3.7 alone, and all others refuse it: https://docs.cloud.google.com/vertex-ai/generative-ai/docs/thinking
 */
export const lowestLevel = (model: string): string =>
  /-flash(-|@|$)/.test(model) && (generationOf(model) ?? 0) < 3.7 ? 'MINIMAL' : 'LOW';

/**
 * Generation 3 and later refuse a call of their own that comes back without its thought signature. Where the caller
 * kept none, this value stands in its place: the platform documents it for calls that have none.
 */
export const signatureFor = (model: string): string | undefined =>
  thinksInLevels(model) ? 'skip_thought_signature_validator' : undefined;
