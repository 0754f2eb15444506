import type { Compatibility, Route } from '../routing/model.ts';
import { isOtherFamily, type ModelTier, modelTier, modelTiers } from './model-tier.ts';

/**
 * What a route to platform B may configure as its model's tier; `none` when the model is not of the messages family.
 */
export const routeTiers = [...modelTiers, 'none'] as const;

type RouteTier = (typeof routeTiers)[number];

/** The fields of a route that decide its model's tier. */
export type TieredRoute = Pick<Route, 'upstreamModel' | 'compatibility'>;

/** The tier of a model behind a messages body: as the route configures it, else from the model's id. */
export function messagesTier({ upstreamModel, compatibility }: TieredRoute): ModelTier {
  const configured = configuredTier(compatibility);
  return configured === undefined || configured === 'none' ? modelTier(upstreamModel) : configured;
}

/**
 * The tier of a model behind `runtime_unified`, which also serves other families; `undefined` for those, to which the
 * model-family policy does not apply.
 */
export function unifiedTier({ upstreamModel, compatibility }: TieredRoute): ModelTier | undefined {
  const configured = configuredTier(compatibility);
  if (configured !== undefined) return configured === 'none' ? undefined : configured;
  return isOtherFamily(upstreamModel) ? undefined : modelTier(upstreamModel);
}

/** `undefined` when the model's id decides its tier. */
export const configuredTier = ({ cloud_b: block }: Compatibility): RouteTier | undefined =>
  routeTiers.find((tier) => tier === block?.['model_tier']);
