import type { TokenUsage } from '../../domain/ledger/usage.ts';
import { billedOutputTokens } from '../../domain/ledger/price-usage.ts';
import type { Attempt } from '../../domain/request-log/request-log.ts';
import type { ApiFamily, ProviderKind, ResolvedRoute } from '../../domain/routing/model.ts';
import type { RequestFailure } from '../../domain/shared/request-failure.ts';

/** A call upstream that has ended. */
export interface MeasuredCall {
  readonly family: ApiFamily;
  readonly resolved: ResolvedRoute;
  readonly attempt: Attempt;
  readonly usage: TokenUsage | undefined;
  /** `error.type`; `undefined` when the call succeeded. */
  readonly errorType: string | undefined;
  /** The runtime's code for the fault of the connection. */
  readonly faultCode: string | undefined;
}

/** `gen_ai.operation.name`. */
export const operationOf = {
  chat_completions: 'chat',
  messages: 'chat',
  responses: 'chat',
  embeddings: 'embeddings',
  count_tokens: 'count_tokens',
} as const satisfies Record<ApiFamily, string>;

/** `http.route`: one for each family. The messages path without `/v1` counts as the one with it. */
export const routeOf = {
  chat_completions: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
  embeddings: '/v1/embeddings',
  count_tokens: '/v1/messages/count_tokens',
} as const satisfies Record<ApiFamily, string>;

/**
 * Values of `gen_ai.provider.name` that the GenAI conventions define; `undefined` where the kind does not tell who
 * sells the model.
 */
const platformNames: Readonly<Record<ProviderKind, string | undefined>> = {
  compat: undefined,
  cloud_run_compat: undefined,
  cloud_a_platform: 'gcp.vertex_ai',
  cloud_b_platform: 'aws.bedrock',
};

/**
 * `gen_ai.provider.name`. Where the conventions define none, it is the provider whose price list applies, which sells
 * the model.
 */
export const providerNameOf = ({
  kind,
  pricingProviderId,
}: Pick<ResolvedRoute['provider'], 'kind' | 'pricingProviderId'>): string =>
  platformNames[kind] ?? pricingProviderId;

/** Output tokens as billed: the conventions ask for the billed number where there is more than one. */
export const outputTokens = (usage: TokenUsage): number => Number(billedOutputTokens(usage));

/** The status of calls that the gateway itself ended on a timeout. */
const timeoutStatus = 504;

/** `error.type` of a call upstream: the status of the upstream's error response, `timeout`, else the error's code. */
export function errorTypeOf(failure: RequestFailure | undefined): string | undefined {
  if (failure === undefined || failure.code === 'client_closed') return failure?.code;
  const { status, upstreamStatus } = failure.upstream ?? {};
  if (upstreamStatus !== undefined && upstreamStatus >= 300) return String(upstreamStatus);
  return status === timeoutStatus ? 'timeout' : failure.code;
}
