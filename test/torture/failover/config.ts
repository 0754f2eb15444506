import { aKey } from '../../support/a-key.ts';
import type { HardLimit } from './checks.ts';
import { type Owner, perToken } from './load.ts';

/** Amounts in units of `amount_10000`: for some 20 requests, and more than a drill spends. */
const tightAmount = 800n;
const wideAmount = 10_000_000_000n;
/** Picodollars in a unit of `amount_10000`. */
const unit = 100_000_000n;

/** `hard` and `tight…` have a hard limit, `soft` a soft one, and any other has no budget. */
export const anOwner = (name: string): Owner => ({
  name,
  key: aKey(),
});

const amountOf = ({ name }: Owner): bigint => (name.startsWith('tight') ? tightAmount : wideAmount);
const isHard = ({ name }: Owner): boolean => name === 'hard' || name.startsWith('tight');

function budgetOf(owner: Owner): object {
  if (owner.name !== 'soft' && !isHard(owner)) return {};
  return {
    budget: { cadence: 'monthly', amount_10000: Number(amountOf(owner)), hard_limit: isHard(owner) },
  };
}

export const limitsOf = (owners: readonly Owner[]): readonly HardLimit[] =>
  owners.filter(isHard).map((owner) => ({ owner: owner.name, picodollars: amountOf(owner) * unit }));

/** A price in the configuration: dollars per million tokens. */
const perMillion = (picodollars: bigint): string => String(picodollars / 1_000_000n);

export const configOf = (upstreamUrl: string, owners: readonly Owner[]): object => ({
  server: { bind: '127.0.0.1:0' },
  providers: [
    {
      id: 'up',
      type: 'compat',
      base_url: upstreamUrl,
      auth: { mode: 'bearer', token: 'token-of-the-drill' },
    },
  ],
  models: [{ id: 'fast', routes: [{ provider: 'up', upstream_model: 'simulated-fast' }] }],
  pricing: {
    overrides: [
      {
        provider: 'up',
        model: 'simulated-fast',
        input_usd_per_million: perMillion(perToken.prompt),
        output_usd_per_million: perMillion(perToken.completion),
      },
    ],
  },
  teams: [],
  users: owners.map((owner) => ({
    email: `${owner.name}@example.com`,
    name: owner.name,
    ...budgetOf(owner),
  })),
  api_keys: owners.map(({ name, key }) => ({ name, owner: `user:${name}@example.com`, value: key })),
});
