import type { Route } from '../../../domain/routing/model.ts';

/**
 * Upstream models beginning `google/` use the generate-content path; models beginning `anthropic/` use the
 * messages-body path.
 */
type Publisher = 'google' | 'anthropic';

/** The publisher's name of the model; `undefined` if it is another publisher's model. */
export function publishedBy(
  publisher: Publisher,
  { upstreamModel }: Pick<Route, 'upstreamModel'>,
): string | undefined {
  const prefix = `${publisher}/`;
  return upstreamModel.startsWith(prefix) ? upstreamModel.slice(prefix.length) : undefined;
}
