import type { FinishedRequest } from '../../application/ports/telemetry.ts';
import { noTags } from '../../domain/request-log/caller-tags.ts';
import type { ProviderKind, ResolvedRoute } from '../../domain/routing/model.ts';

const noCapabilities = {} as ResolvedRoute['route']['capabilities'];

/** A route of a compat provider. */
export const resolvedRoute = ({
  provider = 'up',
  upstreamModel = 'simulated-fast',
  kind = 'compat',
}: {
  readonly provider?: string;
  readonly upstreamModel?: string;
  readonly kind?: ProviderKind;
} = {}): ResolvedRoute => ({
  route: {
    routeId: `${upstreamModel}#0`,
    provider,
    upstreamModel,
    priority: 100,
    enabled: true,
    capabilities: noCapabilities,
    compatibility: {},
    extraHeaders: {},
    extraBody: {},
  },
  provider: {
    id: provider,
    kind,
    pricingProviderId: provider,
    supports: () => noCapabilities,
    takes: () => 'as_written',
  },
});

const usage = { promptTokens: 10, completionTokens: 20, totalTokens: 30 };

/**
 * A priced success of a chat completion, with 10 tokens in and 20 out for 0.0000135 USD, except for what is
 * given.
 */
export const finished = (over: Partial<FinishedRequest> = {}): FinishedRequest => ({
  requestId: 'request-1',
  requestLogId: '01900000-0000-7000-8000-000000000001',
  family: 'chat_completions',
  stream: false,
  outcome: 'success',
  statusCode: 200,
  errorCode: undefined,
  latencyMs: 12,
  caller: {
    apiKeyId: 'key-1',
    keyOwner: { kind: 'user', userId: 'user-1', requestLoggingEnabled: true },
    allowedModels: [],
  },
  modelKey: 'fast',
  resolved: resolvedRoute(),
  attemptStatus: 'success',
  usage,
  usageUnusable: false,
  cost: {
    pricingStatus: 'priced',
    usage,
    price: { input: 150_000n, output: 600_000n, source: 'test' },
    cost: 13_500_000n,
  },
  unbilled: [],
  settled: 'recorded',
  exposedToolCount: 0,
  invokedToolCount: 0,
  tags: noTags,
  ...over,
});
