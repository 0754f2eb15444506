import type { Attributes } from '@opentelemetry/api';
import type { FinishedRequest } from '../../application/ports/telemetry.ts';
import { ownerOf } from '../../domain/identity/caller.ts';
import type { TokenUsage } from '../../domain/ledger/usage.ts';
import { toUsd } from '../../domain/money/money.ts';
import type { ApiFamily } from '../../domain/routing/model.ts';
import { operationOf, outputTokens, providerNameOf, routeOf, type UpstreamEnd } from './gen-ai.ts';
import type { Said } from './request-spans.ts';

type Named = Said & { readonly name: string };

/** The span of a request: what it was, who paid, how it ended. No content, no text of the caller's own but tags. */
export function saidOfRequest(request: FinishedRequest, harness: string, status: number | undefined): Named {
  const { family, errorCode, statusCode } = request;
  return {
    name: `POST ${routeOf[family]}`,
    attributes: {
      'http.request.method': 'POST',
      'http.route': routeOf[family],
      'url.path': routeOf[family],
      'url.scheme': 'http',
      ...(status === undefined ? {} : { 'http.response.status_code': status }),
      'gateway.operation': family,
      'gateway.stream': request.stream,
      'gateway.outcome': request.outcome,
      'gateway.agent_harness_key': harness,
      ...given('gateway.error_code', errorCode),
      ...given('gateway.request_log_id', request.requestLogId),
      ...given('gateway.model_key', request.modelKey),
      ...given('gateway.provider_key', request.resolved?.provider.id),
      ...callerAttributes(request),
      ...moneyAttributes(request),
    },
    // A refusal that the caller is to blame for is no error of the gateway.
    failed: statusCode >= 500 ? errorCode : undefined,
  };
}

function callerAttributes({ caller, tags }: FinishedRequest): Attributes {
  if (caller === undefined) return {};
  return {
    'gateway.api_key_id': caller.apiKeyId,
    'gateway.owner_kind': ownerOf(caller).kind,
    ...given('gateway.caller_service', tags.service),
    ...given('gateway.caller_component', tags.component),
    ...given('gateway.caller_env', tags.env),
    ...Object.fromEntries(tags.bespoke.map(({ key, value }) => [`gateway.caller_tag.${key}`, value])),
  };
}

const moneyAttributes = ({ cost, settled }: FinishedRequest): Attributes => ({
  'gateway.settled': settled,
  ...given('gateway.pricing_status', cost?.pricingStatus),
  ...(cost?.pricingStatus === 'priced' ? { 'gateway.cost_usd': toUsd(cost.cost) } : {}),
});

/** The span of a call upstream, as the GenAI conventions have it; durations in seconds. */
export function saidOfCall(
  { family, resolved: { provider, route }, attempt, usage, failed }: UpstreamEnd,
  firstToken: number | undefined,
): Named {
  return {
    name: `${operationOf[family]} ${route.upstreamModel}`,
    attributes: {
      'gen_ai.operation.name': operationOf[family],
      'gen_ai.provider.name': providerNameOf(provider),
      'gen_ai.request.model': route.upstreamModel,
      'gen_ai.request.stream': attempt.stream,
      'gateway.provider_key': provider.id,
      'gateway.attempt_status': attempt.status,
      ...(attempt.statusCode === undefined ? {} : { 'http.response.status_code': attempt.statusCode }),
      ...(usage === undefined ? {} : usageAttributes(family, usage)),
      ...(firstToken === undefined ? {} : { 'gen_ai.response.time_to_first_chunk': firstToken }),
    },
    failed,
  };
}

const usageAttributes = (family: ApiFamily, usage: TokenUsage): Attributes => ({
  'gen_ai.usage.input_tokens': usage.promptTokens,
  ...(family === 'embeddings' ? {} : { 'gen_ai.usage.output_tokens': outputTokens(usage) }),
});

const given = (name: string, value: string | undefined): Attributes =>
  value === undefined ? {} : { [name]: value };
