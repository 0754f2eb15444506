import type { MeterProvider } from '@opentelemetry/api';
import {
  BatchSpanProcessor,
  type BatchSpanProcessorOptions,
  type ReadableSpan,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace';

/**
 * The SDK's batch span processor with metrics of its queue. It is created in two steps: the processor needs its meter
 * provider at construction, but `NodeSDK` creates that provider when it starts, and by then needs its span processors.
 */
export class MeteredBatch implements SpanProcessor {
  private readonly options: BatchSpanProcessorOptions;
  private batch: BatchSpanProcessor | undefined;

  constructor(options: BatchSpanProcessorOptions) {
    this.options = options;
  }

  begin(meters: MeterProvider): void {
    this.batch = new BatchSpanProcessor({ ...this.options, selfObsMeterProvider: meters });
  }

  onStart(): void {
    // Nothing to do: spans are batched when they end.
  }

  onEnd(span: ReadableSpan): void {
    this.batch?.onEnd(span);
  }

  async forceFlush(): Promise<void> {
    await this.batch?.forceFlush();
  }

  /** Never rejects, because `NodeSDK` would then not wait for the last metrics. The exporter has logged the failure. */
  async shutdown(): Promise<void> {
    await Promise.allSettled([this.batch?.shutdown()]);
  }
}
