import type { Route } from '../../../domain/routing/model.ts';

/**
 * The model by whose tokens the runtime counts for a route; undefined: it does not. Of all models those of the messages
 * family are counted (https://docs.aws.amazon.com/bedrock/latest/userguide/count-tokens.html), by the model's own id or
 * ARN: the id of a profile is refused, and that of a region's or the global profile is the model's behind a prefix.
 * What an application's profile or a model of one's own stands for, its ARN does not tell.
 */
export function countedModel({ upstreamModel }: Pick<Route, 'upstreamModel'>): string | undefined {
  const id = /^arn:[^/]+:(?:foundation-model|inference-profile)\/(.+)$/.exec(upstreamModel)?.[1];
  return /^(?:[a-z-]+\.)?(anthropic\.[^/]+)$/.exec(id ?? upstreamModel)?.[1];
}
