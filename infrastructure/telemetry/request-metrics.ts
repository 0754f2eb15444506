import type { FinishedRequest } from '../../application/ports/telemetry.ts';
import { ownerOf } from '../../domain/identity/caller.ts';
import type { CallerTags } from '../../domain/request-log/caller-tags.ts';
import type { ApiFamily, ResolvedRoute } from '../../domain/routing/model.ts';
import { BoundedValues, type LabelSet, LabelSets, other } from './bounded-labels.ts';
import { type MeasuredCall, operationOf, outputTokens, providerNameOf } from './gen-ai.ts';
import { type AnyPoint, Counter, Histogram, inUsd, type MetricPoints } from './instruments.ts';
import { labelSetBounds, maxModelNames, maxProviderNames, maxTagValues } from './label-table.ts';
import { genAiLabelNames, requestLabels, requestMetrics, tagLabels } from './metric-table.ts';

/** Durations of the parts of a request, in seconds. */
export interface Durations {
  /** From its arrival to its settlement. */
  readonly request: number;
  /** From its arrival to the first chunk with content; streams only. */
  readonly firstToken: number | undefined;
  /** From the first such chunk to the end of the upstream's answer. */
  readonly afterFirst: number | undefined;
}

/** The metrics of requests, with a bounded number of label sets. Nothing here waits, because callers wait for it. */
export class RequestMetrics {
  private readonly bespoke: readonly string[];
  private readonly sets: LabelSets;
  private readonly genAiSets = new LabelSets(genAiLabelNames, [], labelSetBounds);
  private readonly models = new BoundedValues(maxModelNames);
  private readonly upstreamModels = new BoundedValues(maxModelNames);
  private readonly providers = new BoundedValues(maxProviderNames);
  private readonly providerNames = new BoundedValues(maxProviderNames);
  private readonly tagValues: readonly BoundedValues[];
  private readonly counters = {
    'gateway.requests': new Counter<number>(),
    'gateway.request.outcomes': new Counter<number>(),
    'gateway.tokens': new Counter<number>(),
    'gateway.usage.records': new Counter<number>(),
    'gateway.usage.unusable': new Counter<number>(),
    'gateway.duplicates': new Counter<number>(),
    'gateway.client_disconnects': new Counter<number>(),
    'gateway.rate_limit.refusals': new Counter<number>(),
  };
  private readonly money = {
    'gateway.spend': new Counter<bigint>(),
    'gateway.spend.unbilled': new Counter<bigint>(),
  };
  private readonly histograms = {
    'gateway.request.duration': histogram('gateway.request.duration'),
    'gateway.request.tools.exposed': histogram('gateway.request.tools.exposed'),
    'gateway.request.tools.invoked': histogram('gateway.request.tools.invoked'),
    'gen_ai.client.operation.duration': histogram('gen_ai.client.operation.duration'),
    'gen_ai.client.token.usage': histogram('gen_ai.client.token.usage'),
    'gen_ai.server.request.duration': histogram('gen_ai.server.request.duration'),
    'gen_ai.server.time_to_first_token': histogram('gen_ai.server.time_to_first_token'),
    'gen_ai.server.time_per_output_token': histogram('gen_ai.server.time_per_output_token'),
  };

  /** `bespoke`: the keys of `x-gateway-tags` that are labels. */
  constructor(bespoke: readonly string[]) {
    const bespokeLabels = bespoke.map((key) => `caller_tag.${key}`);
    this.bespoke = bespoke;
    this.tagValues = [...tagLabels, ...bespoke].map(() => new BoundedValues(maxTagValues));
    this.sets = new LabelSets(
      [...requestLabels, ...bespokeLabels],
      [...tagLabels, ...bespokeLabels],
      labelSetBounds,
    );
  }

  finished(request: FinishedRequest, harness: string, durations: Durations): void {
    const labels = this.labelsOf(request);
    const ended = labels.with('outcome', request.outcome);
    this.counters['gateway.requests'].add(labels.with('agent_harness_key', harness), 1);
    this.counters['gateway.request.outcomes'].add(
      request.errorCode === undefined ? ended : ended.with('error_code', request.errorCode),
      1,
    );
    this.histograms['gateway.request.duration'].record(ended, durations.request);
    this.accounted(labels, request);
    this.served(request, durations);
    if (request.rateLimit !== undefined)
      this.counters['gateway.rate_limit.refusals'].add(
        labels.with('subject_kind', request.rateLimit.subjectKind).with('measure', request.rateLimit.measure),
        1,
      );
    if (request.exposedToolCount !== undefined)
      this.histograms['gateway.request.tools.exposed'].record(labels, request.exposedToolCount);
    if (request.invokedToolCount !== undefined && request.attemptStatus !== undefined)
      this.histograms['gateway.request.tools.invoked'].record(labels, request.invokedToolCount);
    if (request.outcome === 'client_closed' && request.attemptStatus !== undefined) {
      const upstream = request.attemptStatus === 'success' ? 'drained' : 'lost';
      this.counters['gateway.client_disconnects'].add(labels.with('upstream', upstream), 1);
    }
  }

  /** Records a call upstream that has ended, `seconds` after it began. */
  called({ family, resolved, usage, errorType }: MeasuredCall, seconds: number): void {
    const { provider, route } = resolved;
    const labels = this.genAiLabels(family, provider, this.upstreamModels.named(route.upstreamModel));
    this.histograms['gen_ai.client.operation.duration'].record(
      errorType === undefined ? labels : labels.with('error.type', errorType),
      seconds,
    );
    if (usage === undefined) return;
    const tokens = this.histograms['gen_ai.client.token.usage'];
    const type = 'gen_ai.token.type';
    tokens.record(labels.with(type, 'input'), usage.promptTokens);
    if (family !== 'embeddings') tokens.record(labels.with(type, 'output'), outputTokens(usage));
  }

  collect(): readonly MetricPoints[] {
    const each = <N extends MetricPoints['name'], I>(
      instruments: Readonly<Record<N, I>>,
      points: (instrument: I) => readonly AnyPoint[],
    ): readonly MetricPoints[] =>
      (Object.keys(instruments) as N[]).map((name) => ({ name, points: points(instruments[name]) }));
    return [
      ...each(this.counters, (counter) => counter.points(Number)),
      ...each(this.money, (counter) => counter.points(inUsd)),
      ...each(this.histograms, (histogram) => histogram.points()),
    ];
  }

  private accounted(labels: LabelSet, { usage, family, cost, unbilled, ...request }: FinishedRequest): void {
    if (usage !== undefined) {
      const type = 'token_type';
      this.counters['gateway.tokens'].add(labels.with(type, 'input'), usage.promptTokens);
      if (family !== 'embeddings')
        this.counters['gateway.tokens'].add(labels.with(type, 'output'), outputTokens(usage));
    }
    if (cost !== undefined)
      this.counters['gateway.usage.records'].add(labels.with('pricing_status', cost.pricingStatus), 1);
    if (cost?.pricingStatus === 'priced') this.money['gateway.spend'].add(labels, cost.cost);
    for (const { reason, cost: money } of unbilled)
      this.money['gateway.spend.unbilled'].add(labels.with('reason', reason), money);
    if (request.usageUnusable) this.counters['gateway.usage.unusable'].add(labels, 1);
    if (request.settled === 'duplicate') this.counters['gateway.duplicates'].add(labels, 1);
  }

  /** The GenAI conventions' metrics of a server. Only requests for which a route was chosen are about a model. */
  private served(request: FinishedRequest, { request: seconds, firstToken, afterFirst }: Durations): void {
    const { resolved, modelKey, family, errorCode, usage } = request;
    if (resolved === undefined || modelKey === undefined) return;
    const labels = this.genAiLabels(family, resolved.provider, this.models.named(modelKey));
    this.histograms['gen_ai.server.request.duration'].record(
      errorCode === undefined ? labels : labels.with('error.type', errorCode),
      seconds,
    );
    if (request.outcome !== 'success' || firstToken === undefined) return;
    this.histograms['gen_ai.server.time_to_first_token'].record(labels, firstToken);
    const later = usage === undefined ? 0 : outputTokens(usage) - 1;
    if (later > 0 && afterFirst !== undefined)
      this.histograms['gen_ai.server.time_per_output_token'].record(labels, afterFirst / later);
  }

  private labelsOf({ family, stream, modelKey, resolved, caller, tags }: FinishedRequest): LabelSet {
    return this.sets.of([
      family,
      String(stream),
      modelKey === undefined ? other : this.models.named(modelKey),
      resolved === undefined ? other : this.providers.named(resolved.provider.id),
      caller === undefined ? 'none' : ownerOf(caller).kind,
      ...this.tagsOf(tags),
    ]);
  }

  private tagsOf({ service, component, env, bespoke }: CallerTags): readonly (string | undefined)[] {
    const given = [
      service,
      component,
      env,
      ...this.bespoke.map((key) => bespoke.find((tag) => tag.key === key)?.value),
    ];
    return given.map((value, at) => (value === undefined ? undefined : this.tagValues[at]?.named(value)));
  }

  private genAiLabels(family: ApiFamily, provider: ResolvedRoute['provider'], model: string): LabelSet {
    return this.genAiSets.of([
      operationOf[family],
      this.providerNames.named(providerNameOf(provider)),
      model,
    ]);
  }
}

const histogram = (
  name: {
    [N in keyof typeof requestMetrics]: (typeof requestMetrics)[N] extends { readonly bounds: object }
      ? N
      : never;
  }[keyof typeof requestMetrics],
): Histogram => new Histogram(requestMetrics[name].bounds);
