import type * as t from 'io-ts';
import { testedFamilies } from '../../../application/models/tiny-request.ts';
import type { TestResult } from '../../../application/models/test-model.ts';
import type {
  LastDay,
  ListedModel,
  ListedProvider,
  ListedRoute,
} from '../../../application/ports/model-list.ts';
import { toUsd } from '../../../domain/money/money.ts';
import { type Price, perMillionTokens } from '../../../domain/money/price-catalogue.ts';
import type { ExplainedCapability } from '../../../domain/routing/explained-capabilities.ts';
import { noCataloguePrice } from '../../../domain/ledger/usage-cost-event.ts';
import {
  arrayOf,
  choiceValue,
  countValue,
  flagValue,
  instantValue,
  jsonValue,
  objectOf,
  orNull,
  textValue,
  usdValue,
  uuidValue,
} from '../answers.ts';
import { JsonText } from '../json-text.ts';

const capabilityValue = objectOf({ configured: flagValue, effective: flagValue, reason: orNull(textValue) });

const lastDayValue = objectOf({
  since: instantValue,
  requests: countValue,
  errors: countValue,
  is_lower_bound: flagValue,
});

const priceValue = objectOf({
  input_usd_per_million: usdValue,
  output_usd_per_million: usdValue,
  source: textValue,
});

const routeValue = objectOf({
  position: countValue,
  provider_key: textValue,
  provider_kind: textValue,
  provider_enabled: flagValue,
  upstream_model: textValue,
  priority: countValue,
  enabled: flagValue,
  capabilities: objectOf({
    chat_completions: capabilityValue,
    responses: capabilityValue,
    embeddings: capabilityValue,
    stream: capabilityValue,
    tools: capabilityValue,
    vision: capabilityValue,
    json_schema: capabilityValue,
  }),
  compatibility: jsonValue,
  priced: flagValue,
  price: orNull(priceValue),
  unpriced_reason: orNull(textValue),
});

export const modelItem = objectOf({
  model_key: textValue,
  enabled: flagValue,
  created_at: instantValue,
  routes: arrayOf(routeValue),
  last_day: lastDayValue,
});

export const providerItem = objectOf({
  provider_key: textValue,
  kind: textValue,
  enabled: flagValue,
  host: orNull(textValue),
  endpointb_host: orNull(textValue),
  pricing_provider_id: textValue,
  routes: countValue,
  last_day: lastDayValue,
});

const presentLastDay = ({
  since,
  requests,
  errors,
  isLowerBound,
}: LastDay): t.TypeOf<typeof lastDayValue> => ({
  since: since.toISOString(),
  requests,
  errors,
  is_lower_bound: isLowerBound,
});

export const presentModelItem = (model: ListedModel): t.TypeOf<typeof modelItem> => ({
  model_key: model.modelKey,
  enabled: model.enabled,
  created_at: model.createdAt.toISOString(),
  routes: model.routes.map(presentRoute),
  last_day: presentLastDay(model.lastDay),
});

function presentRoute(route: ListedRoute): t.TypeOf<typeof routeValue> {
  const { capabilities, price } = route;
  return {
    position: route.position,
    provider_key: route.provider.providerKey,
    provider_kind: route.provider.kind,
    provider_enabled: route.provider.enabled,
    upstream_model: route.upstreamModel,
    priority: route.priority,
    enabled: route.enabled,
    capabilities: {
      chat_completions: presentCapability(capabilities.chat_completions),
      responses: presentCapability(capabilities.responses),
      embeddings: presentCapability(capabilities.embeddings),
      stream: presentCapability(capabilities.stream),
      tools: presentCapability(capabilities.tools),
      vision: presentCapability(capabilities.vision),
      json_schema: presentCapability(capabilities.json_schema),
    },
    compatibility: new JsonText(JSON.stringify(route.compatibility)),
    priced: price !== undefined,
    price: price === undefined ? null : presentPrice(price),
    unpriced_reason: price === undefined ? noCataloguePrice : null,
  };
}

const presentCapability = (explained: ExplainedCapability): t.TypeOf<typeof capabilityValue> => ({
  configured: explained.configured,
  effective: explained.effective,
  reason: explained.reason ?? null,
});

const presentPrice = ({ input, output, source }: Price): t.TypeOf<typeof priceValue> => ({
  input_usd_per_million: toUsd(perMillionTokens(input)),
  output_usd_per_million: toUsd(perMillionTokens(output)),
  source,
});

export const presentProviderItem = (provider: ListedProvider): t.TypeOf<typeof providerItem> => ({
  provider_key: provider.providerKey,
  kind: provider.kind,
  enabled: provider.enabled,
  host: provider.host ?? null,
  endpointb_host: provider.endpointbHost ?? null,
  pricing_provider_id: provider.pricingProviderId,
  routes: provider.routeCount,
  last_day: presentLastDay(provider.lastDay),
});

export const testedModel = objectOf({
  outcome: textValue,
  status: countValue,
  latency_ms: countValue,
  family: choiceValue(testedFamilies),
  provider_key: orNull(textValue),
  upstream_model: orNull(textValue),
  usage: orNull(
    objectOf({ prompt_tokens: countValue, completion_tokens: countValue, total_tokens: countValue }),
  ),
  cost_usd: orNull(usdValue),
  error: orNull(objectOf({ code: textValue, message: textValue, upstream_status: orNull(countValue) })),
  request_id: uuidValue,
  request_log_id: orNull(uuidValue),
  text: orNull(textValue),
});

export const presentTest = (result: TestResult): t.TypeOf<typeof testedModel> => {
  const { finished, family } = result;
  const { usage, cost, resolved } = finished;
  return {
    outcome: finished.outcome,
    status: finished.statusCode,
    latency_ms: finished.latencyMs,
    family,
    provider_key: resolved?.provider.id ?? null,
    upstream_model: resolved?.route.upstreamModel ?? null,
    usage:
      usage === undefined
        ? null
        : {
            prompt_tokens: usage.promptTokens,
            completion_tokens: usage.completionTokens,
            total_tokens: usage.totalTokens,
          },
    cost_usd: cost?.pricingStatus === 'priced' ? toUsd(cost.cost) : null,
    error: presentError(result),
    request_id: finished.requestId,
    request_log_id: result.requestLogId ?? null,
    text: result.text ?? null,
  };
};

/** The client of a test request is the test itself, so `client_closed` means that the test timed out. */
function presentError({ finished, error }: TestResult) {
  if (finished.errorCode === 'client_closed')
    return {
      code: 'client_closed',
      message: 'The test took too long and was cancelled.',
      upstream_status: null,
    };
  if (error === undefined) return null;
  return {
    code: error.code,
    message: error.message,
    upstream_status: error.upstream?.upstreamStatus ?? null,
  };
}
