import type { Compatibility, Route } from '../routing/model.ts';
import { isOtherFamily, type ModelTier, modelTier, modelTiers } from './model-tier.ts';

/** What a route to platform B may say of its model's tier; `none`: the model is no messages family. */
export const routeTiers = [...modelTiers, 'none'] as const;

type RouteTier = (typeof routeTiers)[number];

/** What tells the tier of a route's model. */
export type TieredRoute = Pick<Route, 'upstreamModel' | 'compatibility'>;

/** The tier of a model that is spoken to in a messages body: as the route says, else as its id does. */
export function messagesTier({ upstreamModel, compatibility }: TieredRoute): ModelTier {
  const configured = configuredTier(compatibility);
  return configured === undefined || configured === 'none' ? modelTier(upstreamModel) : configured;
}

/**
 * The tier of a model behind `runtime_unified`, which serves other families, too; undefined: it is one of those, and
 * the model-family policy is not for it.
 */
export function unifiedTier({ upstreamModel, compatibility }: TieredRoute): ModelTier | undefined {
  const configured = configuredTier(compatibility);
  if (configured !== undefined) return configured === 'none' ? undefined : configured;
  return isOtherFamily(upstreamModel) ? undefined : modelTier(upstreamModel);
}

/** Undefined: the id of the model tells its tier. */
export const configuredTier = ({ cloud_b: block }: Compatibility): RouteTier | undefined =>
  routeTiers.find((tier) => tier === block?.['model_tier']);
