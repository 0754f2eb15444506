import type { QueryOf } from '../../api/client.ts';
import type { Filters } from '../../app/address.ts';
import { flagOf, wordOf } from '../../app/words.ts';

type Query = QueryOf<'/api/v1/admin/observability/request-logs'>;

/** The pricing state of a request in the ledger, in words. */
export const pricingWords = {
  priced: 'priced',
  legacy_estimated: 'estimated',
  unpriced: 'unpriced',
  usage_missing: 'usage missing',
} as const satisfies Readonly<Record<NonNullable<Query['pricing_status']>, string>>;

const yesOrNo = { true: 'yes', false: 'no' };

/** Filters with a few values, each with its label. */
export const choiceWords: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  failed: yesOrNo,
  in_ledger: yesOrNo,
  pricing_status: pricingWords,
  owner_kind: { user: 'people', team: 'teams' },
};

const pricingStates = [
  'priced',
  'legacy_estimated',
  'unpriced',
  'usage_missing',
] as const satisfies readonly Query['pricing_status'][];

/** The query of the API for those filters. An unknown word is rejected. */
export function choicesOf(
  filters: Filters,
): Pick<Query, 'failed' | 'in_ledger' | 'pricing_status' | 'owner_kind'> {
  const failed = flagOf('failed', filters['failed']);
  const inLedger = flagOf('in_ledger', filters['in_ledger']);
  const pricing = wordOf('pricing_status', pricingStates, filters['pricing_status']);
  const ownerKind = wordOf('owner_kind', ['user', 'team'], filters['owner_kind']);
  return {
    ...(failed === undefined ? {} : { failed }),
    ...(inLedger === undefined ? {} : { in_ledger: inLedger }),
    ...(pricing === undefined ? {} : { pricing_status: pricing }),
    ...(ownerKind === undefined ? {} : { owner_kind: ownerKind }),
  };
}
