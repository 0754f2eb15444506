import type { FinishedRequest } from '../../application/ports/telemetry.ts';
import { ownerOf } from '../../domain/identity/caller.ts';
import type { CallerTags } from '../../domain/request-log/caller-tags.ts';
import type { ApiFamily, ResolvedRoute } from '../../domain/routing/model.ts';
import { BoundedValues, type LabelSet, LabelSets, other } from './bounded-labels.ts';
import { operationOf, outputTokens, providerNameOf, type UpstreamEnd } from './gen-ai.ts';
import { type Label, labelSetBounds, maxModelNames, maxProviderNames, maxTagValues } from './label-table.ts';
import { genAiLabelNames, requestLabels, requestMetrics, tagLabels } from './metric-table.ts';
import { type AnyPoint, inUsd, Spreads, Sums } from './instruments.ts';

/** How long the parts of a request took, in seconds. */
export interface Durations {
  /** From its arrival to its settlement. */
  readonly request: number;
  /** From its arrival to the first chunk with content; streams only. */
  readonly firstToken: number | undefined;
  /** From the first such chunk to the end of the upstream's answer. */
  readonly afterFirst: number | undefined;
}

export interface MetricPoints {
  readonly name: keyof typeof requestMetrics;
  readonly points: readonly AnyPoint[];
}

const label = <const L extends Label>(name: L): L => name;

/** Counts what requests were and cost, under a bounded number of labels; no work waits for anything. */
export class RequestMetrics {
  private readonly bespoke: readonly string[];
  private readonly sets: LabelSets;
  private readonly genAiSets = new LabelSets(genAiLabelNames, [], labelSetBounds);
  private readonly models = new BoundedValues(maxModelNames);
  private readonly upstreamModels = new BoundedValues(maxModelNames);
  private readonly providers = new BoundedValues(maxProviderNames);
  private readonly providerNames = new BoundedValues(maxProviderNames);
  private readonly tagValues: readonly BoundedValues[];
  private readonly sums = {
    'gateway.requests': new Sums<number>(),
    'gateway.request.outcomes': new Sums<number>(),
    'gateway.tokens': new Sums<number>(),
    'gateway.usage.records': new Sums<number>(),
    'gateway.usage.unusable': new Sums<number>(),
    'gateway.duplicates': new Sums<number>(),
    'gateway.departures': new Sums<number>(),
  };
  private readonly money = {
    'gateway.spend': new Sums<bigint>(),
    'gateway.spend.unbilled': new Sums<bigint>(),
  };
  private readonly spreads = {
    'gateway.request.duration': spreads('gateway.request.duration'),
    'gateway.request.tools.exposed': spreads('gateway.request.tools.exposed'),
    'gateway.request.tools.invoked': spreads('gateway.request.tools.invoked'),
    'gen_ai.client.operation.duration': spreads('gen_ai.client.operation.duration'),
    'gen_ai.client.token.usage': spreads('gen_ai.client.token.usage'),
    'gen_ai.server.request.duration': spreads('gen_ai.server.request.duration'),
    'gen_ai.server.time_to_first_token': spreads('gen_ai.server.time_to_first_token'),
    'gen_ai.server.time_per_output_token': spreads('gen_ai.server.time_per_output_token'),
  };

  /** Bespoke caller tags that are labels, too. */
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
    const ended = labels.with(label('outcome'), request.outcome);
    this.sums['gateway.requests'].add(labels.with(label('agent_harness_key'), harness), 1);
    this.sums['gateway.request.outcomes'].add(
      request.errorCode === undefined ? ended : ended.with(label('error_code'), request.errorCode),
      1,
    );
    this.spreads['gateway.request.duration'].record(ended, durations.request);
    this.accounted(labels, request);
    this.served(request, durations);
    if (request.exposedToolCount !== undefined)
      this.spreads['gateway.request.tools.exposed'].record(labels, request.exposedToolCount);
    if (request.invokedToolCount !== undefined && request.attemptStatus !== undefined)
      this.spreads['gateway.request.tools.invoked'].record(labels, request.invokedToolCount);
    if (request.outcome === 'client_closed' && request.attemptStatus !== undefined) {
      const upstream = request.attemptStatus === 'success' ? 'drained' : 'lost';
      this.sums['gateway.departures'].add(labels.with(label('upstream'), upstream), 1);
    }
  }

  /** The call upstream is over, after so many seconds. */
  called({ family, resolved, usage, failed }: UpstreamEnd, seconds: number): void {
    const { provider, route } = resolved;
    const labels = this.genAiLabels(family, provider, this.upstreamModels.named(route.upstreamModel));
    this.spreads['gen_ai.client.operation.duration'].record(
      failed === undefined ? labels : labels.with(label('error.type'), failed),
      seconds,
    );
    if (usage === undefined) return;
    const tokens = this.spreads['gen_ai.client.token.usage'];
    const type = label('gen_ai.token.type');
    tokens.record(labels.with(type, 'input'), usage.promptTokens);
    if (family !== 'embeddings') tokens.record(labels.with(type, 'output'), outputTokens(usage));
  }

  collect(): readonly MetricPoints[] {
    const each = <N extends MetricPoints['name'], S>(
      series: Readonly<Record<N, S>>,
      points: (of: S) => readonly AnyPoint[],
    ): readonly MetricPoints[] =>
      (Object.keys(series) as N[]).map((name) => ({ name, points: points(series[name]) }));
    return [
      ...each(this.sums, (sums) => sums.points((sum) => sum)),
      ...each(this.money, (sums) => sums.points(inUsd)),
      ...each(this.spreads, (histogram) => histogram.points()),
    ];
  }

  private accounted(labels: LabelSet, { usage, family, cost, unbilled, ...request }: FinishedRequest): void {
    if (usage !== undefined) {
      const type = label('token_type');
      this.sums['gateway.tokens'].add(labels.with(type, 'input'), usage.promptTokens);
      if (family !== 'embeddings')
        this.sums['gateway.tokens'].add(labels.with(type, 'output'), outputTokens(usage));
    }
    if (cost !== undefined)
      this.sums['gateway.usage.records'].add(labels.with(label('pricing_status'), cost.pricingStatus), 1);
    if (cost?.pricingStatus === 'priced') this.money['gateway.spend'].add(labels, cost.cost);
    if (unbilled !== undefined)
      this.money['gateway.spend.unbilled'].add(labels.with(label('reason'), unbilled.reason), unbilled.cost);
    if (request.usageUnusable) this.sums['gateway.usage.unusable'].add(labels, 1);
    if (request.settled === 'duplicate') this.sums['gateway.duplicates'].add(labels, 1);
  }

  /** The gateway as a server of models: only requests for which a route was chosen. */
  private served(request: FinishedRequest, { request: seconds, firstToken, afterFirst }: Durations): void {
    const { resolved, modelKey, family, errorCode, usage } = request;
    if (resolved === undefined || modelKey === undefined) return;
    const labels = this.genAiLabels(family, resolved.provider, this.models.named(modelKey));
    this.spreads['gen_ai.server.request.duration'].record(
      errorCode === undefined ? labels : labels.with(label('error.type'), errorCode),
      seconds,
    );
    if (request.outcome !== 'success' || firstToken === undefined) return;
    this.spreads['gen_ai.server.time_to_first_token'].record(labels, firstToken);
    const later = usage === undefined ? 0 : outputTokens(usage) - 1;
    if (later > 0 && afterFirst !== undefined)
      this.spreads['gen_ai.server.time_per_output_token'].record(labels, afterFirst / later);
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

const spreads = (
  name: {
    [N in keyof typeof requestMetrics]: (typeof requestMetrics)[N] extends { readonly bounds: object }
      ? N
      : never;
  }[keyof typeof requestMetrics],
): Spreads => new Spreads(requestMetrics[name].bounds);
