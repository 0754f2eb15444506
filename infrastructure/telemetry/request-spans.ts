import {
  type Attributes,
  createTraceState,
  type HrTime,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type TraceState,
} from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import {
  type ReadableSpan,
  SamplingDecision,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import type { TraceContext } from '../../application/ports/telemetry.ts';
import {
  isSampled,
  newSpanId,
  newTraceId,
  sampledFlag,
  type TraceParent,
  traceParentOf,
  traceparentOf,
} from './trace-context.ts';

/** The trace of one request. */
export interface RequestTrace {
  readonly traceId: string;
  /** What goes upstream. */
  readonly traceContext: TraceContext;
  /** Undefined: it is not sampled, and nothing is made of it. */
  readonly spans: RequestSpans | undefined;
}

export interface TracerOptions {
  readonly ratio: number;
  readonly processor: Pick<SpanProcessor, 'onEnd'>;
  readonly resource: Resource;
}

/** What a span says beside its name and times. */
export interface Said {
  readonly attributes: Attributes;
  /** `error.type` of what failed. */
  readonly failed: string | undefined;
}

const scope = { name: 'model-gateway' };

/**
 * Parent-based: a caller's decision is followed, and a request without one is sampled by the ratio. Spans are made
 * when they end, whole: there is nothing to fill step by step, and it takes two thirds of what the SDK's own ones do.
 */
export class Tracer {
  private readonly sampler: TraceIdRatioBasedSampler;
  private readonly options: TracerOptions;

  constructor(options: TracerOptions) {
    this.options = options;
    this.sampler = new TraceIdRatioBasedSampler(options.ratio);
  }

  begin(caller: TraceContext): RequestTrace {
    const parent = traceParentOf(caller);
    if (parent !== undefined)
      return isSampled(parent)
        ? this.sampled(parent.traceId, parent, caller)
        : { traceId: parent.traceId, traceContext: caller, spans: undefined };
    const traceId = newTraceId();
    if (this.sampler.shouldSample(undefined, traceId).decision === SamplingDecision.RECORD_AND_SAMPLED)
      return this.sampled(traceId, undefined, caller);
    const traceparent = traceparentOf({ traceId, spanId: newSpanId(), flags: 0 });
    return { traceId, traceContext: { traceparent }, spans: undefined };
  }

  private sampled(traceId: string, parent: TraceParent | undefined, caller: TraceContext): RequestTrace {
    const spans = new RequestSpans(traceId, parent, this.options);
    const flags = parent?.flags ?? sampledFlag;
    const traceparent = traceparentOf({ traceId, spanId: spans.clientId, flags });
    return { traceId, spans, traceContext: { ...caller, traceparent } };
  }
}

/** The spans of one sampled request: the server's, and below it those of its parts. Times are `performance.now()`. */
class RequestSpans {
  readonly clientId = newSpanId();
  private readonly server: SpanContext;
  private readonly parent: SpanContext | undefined;
  private readonly options: TracerOptions;
  /** Milliseconds since the epoch, at `performance.now()` = 0. */
  private readonly epoch = Date.now() - performance.now();

  constructor(traceId: string, parent: TraceParent | undefined, options: TracerOptions) {
    const state = parent?.state === undefined ? {} : { traceState: unchanged(parent.state) };
    this.server = { ...state, traceId, spanId: newSpanId(), traceFlags: TraceFlags.SAMPLED };
    this.parent =
      parent === undefined ? undefined : { ...this.server, spanId: parent.spanId, isRemote: true };
    this.options = options;
  }

  step(name: string, from: number, failed: string | undefined): void {
    const context = { ...this.server, spanId: newSpanId() };
    this.keep(name, SpanKind.INTERNAL, context, this.server, from, { attributes: {}, failed });
  }

  call(name: string, from: number, said: Said): void {
    const context = { ...this.server, spanId: this.clientId };
    this.keep(name, SpanKind.CLIENT, context, this.server, from, said);
  }

  request(name: string, from: number, said: Said): void {
    this.keep(name, SpanKind.SERVER, this.server, this.parent, from, said);
  }

  private keep(
    name: string,
    kind: SpanKind,
    context: SpanContext,
    parent: SpanContext | undefined,
    from: number,
    { attributes, failed }: Said,
  ): void {
    const to = performance.now();
    const span: ReadableSpan = {
      name,
      kind,
      spanContext: () => context,
      ...(parent === undefined ? {} : { parentSpanContext: parent }),
      startTime: hrTime(this.epoch + from),
      endTime: hrTime(this.epoch + to),
      duration: hrTime(to - from),
      status: { code: failed === undefined ? SpanStatusCode.UNSET : SpanStatusCode.ERROR },
      attributes: failed === undefined ? attributes : { ...attributes, 'error.type': failed },
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

/** The vendors' list is exported as it came: the SDK's own leaves out keys that later versions of W3C allow. */
const unchanged = (text: string): TraceState => ({
  get: (key) => createTraceState(text).get(key),
  set: (key, value) => createTraceState(text).set(key, value),
  unset: (key) => createTraceState(text).unset(key),
  serialize: () => text,
});

/** Milliseconds as seconds and nanoseconds. */
export const hrTime = (milliseconds: number): HrTime => {
  const seconds = Math.floor(milliseconds / 1000);
  return [seconds, Math.floor((milliseconds - seconds * 1000) * 1e6)];
};
