import type { Route } from '../../../domain/routing/model.ts';

/**
 * Upstream models beginning `google/` use the generate-content path; models beginning `anthropic/` use the
 * messages-body path.
 */
type Publisher = 'google' | 'anthropic';

/** The model as its publisher names it; undefined where it is another publisher's. */
export function publishedBy(
  publisher: Publisher,
  { upstreamModel }: Pick<Route, 'upstreamModel'>,
): string | undefined {
  const prefix = `${publisher}/`;
  return upstreamModel.startsWith(prefix) ? upstreamModel.slice(prefix.length) : undefined;
}
