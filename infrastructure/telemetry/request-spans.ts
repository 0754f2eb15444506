import {
  propagation,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
} from '@opentelemetry/api';
import { millisToHrTime } from '@opentelemetry/core';
import type { Resource } from '@opentelemetry/resources';
import {
  RandomIdGenerator,
  type ReadableSpan,
  SamplingDecision,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import type { TraceContext } from '../../application/ports/telemetry.ts';
import type { SpanContent } from './span-attributes.ts';

/** The trace of one request. */
export interface RequestTrace {
  readonly traceId: string;
  /** The headers that are sent upstream. */
  readonly traceContext: TraceContext;
  /** `undefined` when the request is not sampled: then no span is created. */
  readonly spans: RequestSpans | undefined;
}

export interface TracerOptions {
  readonly ratio: number;
  readonly processor: Pick<SpanProcessor, 'onEnd'>;
  readonly resource: Resource;
}

/** The instrumentation scope of the gateway's own metrics and spans. */
export const scope = { name: 'model-gateway' };
const ids = new RandomIdGenerator();

/** The flags that W3C has defined: sampled, and random trace id. Others must not be passed on. */
const knownFlags = 3;

/**
 * Begins the trace of each request, parent-based: the caller's sampling decision is followed, and a request without one
 * is sampled by the ratio. The propagator that the SDK has registered reads and writes the context.
 */
export class Tracer {
  private readonly sampler: TraceIdRatioBasedSampler;
  private readonly options: TracerOptions;

  constructor(options: TracerOptions) {
    this.options = options;
    this.sampler = new TraceIdRatioBasedSampler(options.ratio);
  }

  begin(caller: TraceContext): RequestTrace {
    const parent = trace.getSpanContext(propagation.extract(ROOT_CONTEXT, caller));
    if (parent !== undefined)
      return isSampled(parent)
        ? this.sampled(parent.traceId, parent)
        : { traceId: parent.traceId, traceContext: caller, spans: undefined };
    const traceId = ids.generateTraceId();
    if (this.sampler.shouldSample(ROOT_CONTEXT, traceId).decision === SamplingDecision.RECORD_AND_SAMPLED)
      return this.sampled(traceId, undefined);
    const notSampled = { traceId, spanId: ids.generateSpanId(), traceFlags: TraceFlags.NONE };
    return { traceId, traceContext: headersOf(notSampled), spans: undefined };
  }

  private sampled(traceId: string, parent: SpanContext | undefined): RequestTrace {
    const spans = new RequestSpans(traceId, parent, this.options);
    const traceFlags = (parent?.traceFlags ?? TraceFlags.SAMPLED) & knownFlags;
    return { traceId, spans, traceContext: headersOf({ ...spans.client, traceFlags }) };
  }
}

const isSampled = ({ traceFlags }: SpanContext): boolean => (traceFlags & TraceFlags.SAMPLED) !== 0;

function headersOf(context: SpanContext): TraceContext {
  const headers: Record<string, string> = {};
  propagation.inject(trace.setSpanContext(ROOT_CONTEXT, context), headers);
  return headers;
}

/**
 * The spans of one sampled request: the server span, and below it those of its parts. Each is created complete when it
 * ends, which takes two thirds of the time of the SDK's own spans, which are filled step by step. Times are
 * `performance.now()`.
 */
class RequestSpans {
  readonly client: SpanContext;
  private readonly server: SpanContext;
  private readonly parent: SpanContext | undefined;
  private readonly options: TracerOptions;
  /** Milliseconds since 1970 at `performance.now()` = 0. */
  private readonly epoch = Date.now() - performance.now();

  constructor(traceId: string, parent: SpanContext | undefined, options: TracerOptions) {
    const state = parent?.traceState === undefined ? {} : { traceState: parent.traceState };
    this.server = { ...state, traceId, spanId: ids.generateSpanId(), traceFlags: TraceFlags.SAMPLED };
    this.client = { ...this.server, spanId: ids.generateSpanId() };
    this.parent = parent;
    this.options = options;
  }

  step(name: string, errorType: string | undefined, from: number): void {
    const context = { ...this.server, spanId: ids.generateSpanId() };
    this.end({ name, attributes: {}, errorType }, SpanKind.INTERNAL, context, this.server, from);
  }

  call(content: SpanContent, from: number): void {
    this.end(content, SpanKind.CLIENT, this.client, this.server, from);
  }

  request(content: SpanContent, from: number): void {
    this.end(content, SpanKind.SERVER, this.server, this.parent, from);
  }

  private end(
    { name, attributes, errorType }: SpanContent,
    kind: SpanKind,
    context: SpanContext,
    parent: SpanContext | undefined,
    from: number,
  ): void {
    const to = performance.now();
    const span: ReadableSpan = {
      name,
      kind,
      spanContext: () => context,
      ...(parent === undefined ? {} : { parentSpanContext: parent }),
      startTime: millisToHrTime(this.epoch + from),
      endTime: millisToHrTime(this.epoch + to),
      duration: millisToHrTime(to - from),
      status: { code: errorType === undefined ? SpanStatusCode.UNSET : SpanStatusCode.ERROR },
      attributes: errorType === undefined ? attributes : { ...attributes, 'error.type': errorType },
      links: [],
      events: [],
      ended: true,
      resource: this.options.resource,
      instrumentationScope: scope,
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    };
    this.options.processor.onEnd(span);
  }
}
