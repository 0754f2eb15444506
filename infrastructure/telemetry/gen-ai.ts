import type { TokenUsage } from '../../domain/ledger/usage.ts';
import { billedOutputTokens } from '../../domain/ledger/price-usage.ts';
import type { Attempt } from '../../domain/request-log/request-log.ts';
import type { ApiFamily, ProviderKind, ResolvedRoute } from '../../domain/routing/model.ts';
import type { GatewayError } from '../../domain/shared/gateway-error.ts';

/** A call upstream that has ended. */
export interface UpstreamEnd {
  readonly family: ApiFamily;
  readonly resolved: ResolvedRoute;
  readonly attempt: Attempt;
  readonly usage: TokenUsage | undefined;
  /** Its `error.type`; undefined: it went well. */
  readonly failed: string | undefined;
}

/** `gen_ai.operation.name`. */
export const operationOf = {
  chat_completions: 'chat',
  messages: 'chat',
  responses: 'chat',
  embeddings: 'embeddings',
  count_tokens: 'count_tokens',
} as const satisfies Record<ApiFamily, string>;

/** `http.route`: one for each family; the messages path without a prefix counts as the one with it. */
export const routeOf = {
  chat_completions: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
  embeddings: '/v1/embeddings',
  count_tokens: '/v1/messages/count_tokens',
} as const satisfies Record<ApiFamily, string>;

/** Well-known `gen_ai.provider.name`s. */
const platformNames: Partial<Record<ProviderKind, string>> = {
  cloud_a_platform: 'gcp.vertex_ai',
  cloud_b_platform: 'aws.bedrock',
};

/** `gen_ai.provider.name`: who sells the model, which for other platforms is whose prices it has. */
export const providerNameOf = ({
  kind,
  pricingProviderId,
}: Pick<ResolvedRoute['provider'], 'kind' | 'pricingProviderId'>): string =>
  platformNames[kind] ?? pricingProviderId;

/** Output as it is billed, which is what the conventions ask for. */
export const outputTokens = (usage: TokenUsage): number => Number(billedOutputTokens(usage));

/** The status of a time-out of the gateway's own. */
const timeoutStatus = 504;

/** `error.type` of a call: an upstream's refusal is its status, a time-out is one, and the rest goes by its code. */
export function callFault(failure: GatewayError | 'client_closed' | undefined): string | undefined {
  if (failure === undefined || failure === 'client_closed') return failure;
  const { status, upstreamStatus } = failure.upstream ?? {};
  if (upstreamStatus !== undefined && upstreamStatus >= 300) return String(upstreamStatus);
  return status === timeoutStatus ? 'timeout' : failure.code;
}
