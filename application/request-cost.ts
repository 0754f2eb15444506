import { priceUsage } from '../domain/ledger/price-usage.ts';
import { type UsageCost, usageCost } from '../domain/ledger/usage-cost-event.ts';
import { messagesBodyUsage } from '../domain/ledger/messages-body-usage.ts';
import type { Picodollars } from '../domain/money/money.ts';
import type { Price } from '../domain/money/price-catalogue.ts';
import { isString, type JsonObject } from '../domain/shared/json.ts';
import type { AdditionalUsage } from '../domain/upstream/observation.ts';
import type { ServePorts } from './serve-ports.ts';
import { observed, type RequestEnd } from './request-end.ts';
import type { Facts } from './request-stages.ts';

type WithRoute = Exclude<Facts, { readonly resolved?: undefined }>;

export const costOf = (ports: ServePorts, facts: Facts, end: RequestEnd): UsageCost | undefined =>
  facts.resolved === undefined ? undefined : costOfCall(ports, facts, end);

export const costOfCall = (ports: ServePorts, facts: WithRoute, end: RequestEnd): UsageCost =>
  usageCost(observed(end).usage, priceOf(ports, facts, facts.resolved.route.upstreamModel));

/**
 * The price is looked up at the row's time, which is the database's, because the clocks of replicas differ. If a reload
 * has removed the price meanwhile, the one that was in force with the route counts: the request was admitted under it.
 */
function priceOf(ports: ServePorts, facts: WithRoute, model: string): Price | undefined {
  const { pricingProviderId } = facts.resolved.provider;
  const at = databaseTime(ports, facts);
  const present = ports.catalogue.snapshot().prices.priceOf(pricingProviderId, model, at);
  return present ?? facts.prices.priceOf(pricingProviderId, model, at);
}

function databaseTime({ clock }: ServePorts, { admission, admittedAt }: Facts): number {
  const now = clock.now();
  return admission === undefined ? now : admission.databaseTime.getTime() + Math.max(0, now - admittedAt);
}

/** The cost of each thing that a provider bills in addition to an answer, where it has a price. */
export type AdditionalCosts = Readonly<Record<keyof AdditionalUsage, Picodollars | undefined>>;

const nothing: AdditionalCosts = {
  compaction: undefined,
  advisor: undefined,
  imageGeneration: undefined,
};

/**
 * Compaction costs what the request's own tokens do (rule 38.14), advice (rule 38.15) and images (rule 38.16) what
 * their own models do.
 */
export function additionalCosts(
  ports: ServePorts,
  facts: Facts,
  end: RequestEnd,
  cost: UsageCost | undefined,
): AdditionalCosts {
  const { beside } = observed(end);
  if (beside === undefined || facts.resolved === undefined) return nothing;
  const { compaction, advisor, imageGeneration } = beside;
  const { resolved } = facts;
  const ofItsModel = (used: JsonObject | undefined): Picodollars | undefined => {
    const model = used?.['model'];
    return costAt(used, isString(model) ? priceOf(ports, { ...facts, resolved }, model) : undefined);
  };
  return {
    compaction: costAt(compaction, cost?.pricingStatus === 'priced' ? cost.price : undefined),
    advisor: ofItsModel(advisor),
    imageGeneration: ofItsModel(imageGeneration),
  };
}

function costAt(used: JsonObject | undefined, price: Price | undefined): Picodollars | undefined {
  const usage = used === undefined ? undefined : messagesBodyUsage(used);
  return usage === undefined || price === undefined ? undefined : priceUsage(usage, price);
}
