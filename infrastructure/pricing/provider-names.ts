import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';

/** The key of a price: both parts match exactly, or the request is `unpriced`. */
export interface Pair {
  readonly pricingProviderId: string;
  readonly upstreamModel: string;
}

/** Names in price files of providers that this catalogue names differently; all other names are kept. */
const canonicalIds: ReadonlyMap<string, string> = new Map([
  ['text-completion-openai', 'openai'],
  ['azure_text', 'azure'],
  ['bedrock_converse', 'bedrock'],
  ['amazon-bedrock', 'bedrock'],
  ['gemini', 'google'],
  ['google-vertex', 'google'],
  ['google-vertex-anthropic', 'google'],
  ['vertex_ai', 'google'],
  ['cohere_chat', 'cohere'],
  ['together_ai', 'together'],
  ['togetherai', 'together'],
  ['fireworks_ai', 'fireworks'],
  ['fireworks-ai', 'fireworks'],
  ['fireworks_ai-embedding-models', 'fireworks'],
]);

const canonicalId = (name: string): string =>
  name.startsWith('vertex_ai-') ? 'google' : (canonicalIds.get(name) ?? name);

/** Providers whose LiteLLM keys have a region or a deployment type before the model. */
const regional: ReadonlySet<string> = new Set(['azure', 'bedrock', 'bedrock_mantle']);

/** Platform A names a model by publisher; price files leave the publisher of these out. */
const publishers: readonly (readonly [RegExp, string])[] = [
  [/^gemini-|^text-(multilingual-)?embedding-/, 'google'],
  [/^claude-/, 'anthropic'],
];

/** Ids that the configuration accepts, except for those with `:`, `/` or `@`. */
const providerId = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** Printable without blanks; the longest public names have about 120 characters. */
const modelName = /^[\x21-\x7e]{1,256}$/;

/**
 * The pair of a LiteLLM row. The id comes from `litellm_provider`, and the model from the key, without its first
 * segment if that is the provider's route (`groq/…`, `mistral/…`, `vertex_ai/…`).
 */
export function litellmPair(provider: string, key: string): Either<string, Pair> {
  const id = canonicalId(provider);
  const slash = key.indexOf('/');
  const model = slash > 0 && canonicalId(key.slice(0, slash)) === id ? key.slice(slash + 1) : key;
  if (regional.has(id) && model.includes('/'))
    return E.left('price of one region or deployment type, not of a model name');
  return provider.startsWith('vertex_ai') ? platformPair(id, model) : checked(id, model);
}

/** The pair of a models.dev row. The id comes from the provider's key; the model's key is kept unchanged. */
export const modelsDevPair = (provider: string, model: string): Either<string, Pair> =>
  provider.startsWith('google-vertex')
    ? platformPair(canonicalId(provider), model)
    : checked(canonicalId(provider), model);

/** Platform A: `publisher/model`. `@default` means that no version is named, and is not part of the name. */
function platformPair(id: string, name: string): Either<string, Pair> {
  const model = name.replace(/@default$/, '');
  if (model.includes('/')) return checked(id, model);
  const publisher = publishers.find(([pattern]) => pattern.test(model))?.[1];
  return publisher === undefined
    ? E.left('no publisher is known for this name of the managed platform')
    : checked(id, `${publisher}/${model}`);
}

/** The configuration would read `${NAME}` in a name as a variable, so such a name cannot be pasted into it. */
const checked = (pricingProviderId: string, upstreamModel: string): Either<string, Pair> =>
  providerId.test(pricingProviderId) && modelName.test(upstreamModel) && !upstreamModel.includes('${')
    ? E.right({ pricingProviderId, upstreamModel })
    : E.left('not a name that a configuration file can hold');
