import { aKey } from '../../support/a-key.ts';
import type { LoadFamilyName } from '../../support/load-families.ts';

/** The owners of requests. `tight` has a hard budget that is used up in the middle of each round. */
export const owners = ['free', 'soft', 'hard', 'tight', 'limited', 'team'] as const;
export type Owner = (typeof owners)[number];

/** The behaviour of a model's upstream, and its complete answer. */
export interface SceneModel {
  readonly id: string;
  readonly chunks: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Further directives of the simulated upstream. */
  readonly more: string;
}

const one = (
  id: string,
  chunks: number,
  promptTokens: number,
  completionTokens: number,
  more: string,
): SceneModel => ({ id, chunks, promptTokens, completionTokens, more });

/** Models with complete answers. */
export const soundModels: readonly SceneModel[] = [
  one('quick', 4, 101, 53, 'latency-ms=5'),
  one('slow', 6, 211, 97, 'latency-ms=40&chunk-delay-ms=15'),
  one('long', 24, 307, 401, 'latency-ms=20&chunk-delay-ms=60'),
];

/** Models with broken answers, each in a different way. */
export const brokenModels: readonly SceneModel[] = [
  'break=0',
  'break=3',
  'break=end',
  'cut=2',
  'cut=usage',
  'eof=2',
  'garbage=2',
  'foreign=2',
  'hang=2',
  'hang=headers',
  'hang=end',
  'error-at=2',
  'status=429',
  'status=500',
  'json-error=on',
  'html=on',
  'empty=on',
  'long-line=300000',
  'no-done=on',
].map((fault, index) => one(`broken-${index}`, 6, 150 + index, 60 + index, `chunk-delay-ms=4&${fault}`));

export const models = [...soundModels, ...brokenModels];

/** Bytes of each content delta: the length of an answer shows whether it is complete. */
const chunkBytes = 7;
export const wholeLength = ({ chunks }: SceneModel): number => chunks * chunkBytes;

/** In picodollars per token. */
const inputPrice = 150_000n;
const outputPrice = 600_000n;
/** The cost of the complete answer of a model, in picodollars. */
export const costOf = ({ promptTokens, completionTokens }: SceneModel, family: LoadFamilyName): bigint =>
  BigInt(promptTokens) * inputPrice + (family === 'embeddings' ? 0n : BigInt(completionTokens) * outputPrice);

/** The unit of `amount_10000`, in picodollars. */
export const unit = 100_000_000n;

export type Keys = Readonly<Record<Owner, string>>;
export const someKeys = (): Keys => Object.fromEntries(owners.map((owner) => [owner, aKey()])) as Keys;

const directives = ({ chunks, promptTokens, completionTokens, more }: SceneModel): string =>
  `usage=last&chunks=${chunks}&chunk-bytes=${chunkBytes}&prompt-tokens=${promptTokens}` +
  `&completion-tokens=${completionTokens}&${more}`;

/** More than a run can spend. */
const plenty = { cadence: 'daily', amount_10000: 9_000_000_000 };

/** The shutdown grace of the gateways. */
export const graceSecs = 3;

/** The configured handling of repeated request ids. */
export type DuplicateIds = 'allow' | 'reject';

/** The configuration of every replica. */
export const sceneConfig = (upstreamUrl: string, keys: Keys, duplicates: DuplicateIds) => ({
  server: { bind: '127.0.0.1:0', shutdown_grace_secs: graceSecs, stream_keepalive_secs: 1 },
  accounting: {
    duplicate_request_ids: duplicates,
    drain_on_disconnect: 'hard_budget',
    drain_timeout_secs: 2,
  },
  providers: [
    {
      id: 'up',
      type: 'compat',
      base_url: upstreamUrl,
      auth: { mode: 'none' },
      timeouts: { connect_ms: 1000, first_byte_ms: 1500, idle_ms: 1500, total_ms: 8000 },
    },
  ],
  models: models.map((model) => ({
    id: model.id,
    routes: [
      {
        provider: 'up',
        upstream_model: 'simulated',
        extra_headers: { 'x-simulate': directives(model) },
        compatibility: { compat: { supports_stream_usage: true } },
      },
    ],
  })),
  pricing: {
    overrides: [
      {
        provider: 'up',
        model: 'simulated',
        input_usd_per_million: '0.15',
        output_usd_per_million: '0.60',
      },
    ],
  },
  teams: [{ id: 'team', name: 'Team', budget: { ...plenty, hard_limit: true } }],
  users: [
    { email: 'free@example.com', name: 'free' },
    { email: 'soft@example.com', name: 'soft', budget: { ...plenty, hard_limit: false } },
    { email: 'hard@example.com', name: 'hard', budget: { ...plenty, hard_limit: true } },
    { email: 'tight@example.com', name: 'tight' },
    { email: 'limited@example.com', name: 'limited', limits: { requests_in_flight: 4 } },
  ],
  api_keys: owners.map((owner) => ({
    name: owner,
    owner: owner === 'team' ? 'team:team' : `user:${owner}@example.com`,
    value: keys[owner],
  })),
});
