import {
  type Context,
  createTraceState,
  type TextMapGetter,
  type TextMapPropagator,
  trace,
  type TraceState,
} from '@opentelemetry/api';
import { TRACE_STATE_HEADER, W3CTraceContextPropagator } from '@opentelemetry/core';

/** The SDK's W3C trace context, except that `tracestate` is passed on unchanged. */
export class TraceContextPropagator extends W3CTraceContextPropagator implements TextMapPropagator {
  override extract(context: Context, carrier: unknown, getter: TextMapGetter): Context {
    const extracted = super.extract(context, carrier, getter);
    const caller = trace.getSpanContext(extracted);
    const state = getter.get(carrier, TRACE_STATE_HEADER);
    if (caller === undefined || typeof state !== 'string') return extracted;
    return trace.setSpanContext(extracted, { ...caller, traceState: verbatim(state) });
  }
}

/** The SDK's own `TraceState` drops members whose keys only later versions of the W3C grammar allow. */
const verbatim = (text: string): TraceState => ({
  get: (key) => createTraceState(text).get(key),
  set: (key, value) => createTraceState(text).set(key, value),
  unset: (key) => createTraceState(text).unset(key),
  serialize: () => text,
});
