import type { Attributes } from '@opentelemetry/api';
import type { Arrival, FinishedRequest } from '../../application/ports/telemetry.ts';
import { ownerOf } from '../../domain/identity/caller.ts';
import type { TokenUsage } from '../../domain/ledger/usage.ts';
import { toUsd } from '../../domain/money/money.ts';
import type { ApiFamily } from '../../domain/routing/model.ts';
import { type MeasuredCall, operationOf, outputTokens, providerNameOf, routeOf } from './gen-ai.ts';

/** A span without its context and times. */
export interface SpanContent {
  readonly name: string;
  readonly attributes: Attributes;
  /** `error.type`; `undefined` when the work succeeded. */
  readonly errorType: string | undefined;
}

/**
 * The server span of a request. Of the caller's own text it has only the tags: prompts, answers and error messages may
 * contain what only the caller may see.
 */
export function serverSpan(
  request: FinishedRequest,
  scheme: Arrival['scheme'],
  harness: string,
  status: number | undefined,
): SpanContent {
  const { family, errorCode, statusCode } = request;
  return {
    name: `POST ${routeOf[family]}`,
    attributes: {
      'http.request.method': 'POST',
      'http.route': routeOf[family],
      'url.path': routeOf[family],
      'url.scheme': scheme,
      ...ifKnown('http.response.status_code', status),
      'gateway.operation': family,
      'gateway.stream': request.stream,
      'gateway.outcome': request.outcome,
      'gateway.agent_harness_key': harness,
      ...ifKnown('gateway.error_code', errorCode),
      ...ifKnown('gateway.request_log_id', request.requestLogId),
      ...ifKnown('gateway.model_key', request.modelKey),
      ...ifKnown('gateway.provider_key', request.resolved?.provider.id),
      ...callerAttributes(request),
      ...moneyAttributes(request),
    },
    // By the HTTP conventions, a status below 500 is the caller's error and not one of a server span.
    errorType: statusCode >= 500 ? errorCode : undefined,
  };
}

function callerAttributes({ caller, tags }: FinishedRequest): Attributes {
  if (caller === undefined) return {};
  return {
    ...ifKnown('gateway.api_key_id', caller.apiKeyId),
    'gateway.owner_kind': ownerOf(caller).kind,
    ...ifKnown('gateway.caller_service', tags.service),
    ...ifKnown('gateway.caller_component', tags.component),
    ...ifKnown('gateway.caller_env', tags.env),
    ...Object.fromEntries(tags.bespoke.map(({ key, value }) => [`gateway.caller_tag.${key}`, value])),
  };
}

const moneyAttributes = ({ cost, settled }: FinishedRequest): Attributes => ({
  'gateway.settled': settled,
  ...ifKnown('gateway.pricing_status', cost?.pricingStatus),
  ...(cost?.pricingStatus === 'priced' ? { 'gateway.cost_usd': toUsd(cost.cost) } : {}),
});

/** The client span of a call upstream, with the attributes of the GenAI conventions; `firstToken` is in seconds. */
export function clientSpan(
  { family, resolved: { provider, route }, attempt, usage, errorType, faultCode }: MeasuredCall,
  firstToken: number | undefined,
): SpanContent {
  return {
    name: `${operationOf[family]} ${route.upstreamModel}`,
    attributes: {
      'gen_ai.operation.name': operationOf[family],
      'gen_ai.provider.name': providerNameOf(provider),
      'gen_ai.request.model': route.upstreamModel,
      'gen_ai.request.stream': attempt.stream,
      'gateway.provider_key': provider.id,
      'gateway.attempt_status': attempt.status,
      ...ifKnown('gateway.upstream_fault', faultCode),
      ...ifKnown('http.response.status_code', attempt.statusCode),
      ...(usage === undefined ? {} : usageAttributes(family, usage)),
      ...ifKnown('gen_ai.response.time_to_first_chunk', firstToken),
    },
    errorType,
  };
}

const usageAttributes = (family: ApiFamily, usage: TokenUsage): Attributes => ({
  'gen_ai.usage.input_tokens': usage.promptTokens,
  ...(family === 'embeddings' ? {} : { 'gen_ai.usage.output_tokens': outputTokens(usage) }),
});

export const ifKnown = (name: string, value: string | number | undefined): Attributes =>
  value === undefined ? {} : { [name]: value };
