import { cloudBBlock } from '../compatibility/cloud-b-style.ts';
import type { Route } from '../routing/model.ts';
import { isOtherFamily, type ModelTier, modelTier } from './model-tier.ts';

/** What tells the tier of a route's model. */
export type TieredRoute = Pick<Route, 'upstreamModel' | 'compatibility'>;

/** The tier of a model that is spoken to in a messages body: as the route says, else as its id does. */
export function messagesTier({ upstreamModel, compatibility }: TieredRoute): ModelTier {
  const configured = cloudBBlock(compatibility)?.modelTier;
  return configured === undefined || configured === 'none' ? modelTier(upstreamModel) : configured;
}

/**
 * The tier of a model behind `runtime_unified`, which serves other families, too; undefined: it is one of those, and
 * the model-family policy is not for it.
 */
export function unifiedTier({ upstreamModel, compatibility }: TieredRoute): ModelTier | undefined {
  const configured = cloudBBlock(compatibility)?.modelTier;
  if (configured !== undefined) return configured === 'none' ? undefined : configured;
  return isOtherFamily(upstreamModel) ? undefined : modelTier(upstreamModel);
}
