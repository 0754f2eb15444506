import type { MeterProvider } from '@opentelemetry/api';
import {
  BatchSpanProcessor,
  type BatchSpanProcessorOptions,
  type ReadableSpan,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace';

/**
 * The SDK's batch span processor with metrics of its queue. It is made in two steps, because the processor takes its
 * meter provider when it is made, and `NodeSDK` makes that when it starts, with its span processors in hand.
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
    // Nothing is to be done: spans are batched when they end.
  }

  onEnd(span: ReadableSpan): void {
    this.batch?.onEnd(span);
  }

  async forceFlush(): Promise<void> {
    await this.batch?.forceFlush();
  }

  /** Never rejects: `NodeSDK` would not wait for the last metrics then. The exporter has logged what failed. */
  async shutdown(): Promise<void> {
    await Promise.allSettled([this.batch?.shutdown()]);
  }
}
