import type { Route } from '../../../domain/routing/model.ts';

/**
 * The id of the model for which the runtime counts a route's tokens; `undefined` if it cannot. Only models of the
 * messages family are counted (https://docs.aws.amazon.com/bedrock/latest/userguide/count-tokens.html), by the model's
 * own id or ARN. The id of a profile is rejected, but that of a regional or global profile is a prefix and the model's
 * id. The ARN of an application's profile or of a custom model does not contain the model.
 */
export function countedModel({ upstreamModel }: Pick<Route, 'upstreamModel'>): string | undefined {
  const id = /^arn:[^/]+:(?:foundation-model|inference-profile)\/(.+)$/.exec(upstreamModel)?.[1];
  return /^(?:[a-z-]+\.)?(anthropic\.[^/]+)$/.exec(id ?? upstreamModel)?.[1];
}
