import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type {
  Arrival,
  FinishedRequest,
  RequestTelemetry,
  Step,
  Telemetry,
  UpstreamTelemetry,
} from '../../application/ports/telemetry.ts';
import { agentHarness } from '../../domain/request-log/agent-harness.ts';
import type { ResolvedRoute } from '../../domain/routing/model.ts';
import type { GatewayError } from '../../domain/shared/gateway-error.ts';
import { faultCodeOf } from '../../domain/shared/request-failure.ts';
import { type MeasuredCall, errorTypeOf } from './gen-ai.ts';
import type { Durations, RequestMetrics } from './request-metrics.ts';
import type { RequestTrace, Tracer } from './request-spans.ts';
import { clientSpan, serverSpan } from './span-attributes.ts';
import { traceIdOf } from './trace-context.ts';

/** Where the telemetry of requests goes. Metrics and spans are absent where nothing is exported. */
export interface Sinks {
  readonly log: (request: FinishedRequest, traceId: string | undefined) => void;
  readonly metrics?: RequestMetrics;
  readonly tracer?: Tracer;
}

export const telemetryTo = (sinks: Sinks): Telemetry => ({
  begin: (arrival) => new ObservedRequest(sinks, arrival),
});

/** The telemetry of one request; times are those of `performance.now()`. */
class ObservedRequest implements RequestTelemetry {
  private readonly sinks: Sinks;
  private readonly arrival: Arrival;
  private readonly trace: RequestTrace | undefined;
  private readonly startedAt = performance.now();
  private firstContentAt: number | undefined;
  private callEndedAt: number | undefined;
  private ended: FinishedRequest | undefined;

  constructor(sinks: Sinks, arrival: Arrival) {
    this.sinks = sinks;
    this.arrival = arrival;
    this.trace = sinks.tracer?.begin(arrival.traceContext);
  }

  during<L extends GatewayError, A>(step: Step, work: () => Promise<Either<L, A>>): Promise<Either<L, A>> {
    return this.trace?.spans === undefined ? work() : this.step(step, work);
  }

  upstream(resolved: ResolvedRoute): UpstreamTelemetry {
    const startedAt = performance.now();
    return {
      traceContext: this.trace?.traceContext ?? this.arrival.traceContext,
      firstContent: () => {
        this.firstContentAt ??= performance.now();
      },
      ended: (attempt, { usage }, failure) => {
        const call = {
          family: this.arrival.family,
          resolved,
          attempt,
          usage,
          errorType: errorTypeOf(failure),
          faultCode: faultCodeOf(failure),
        };
        this.callEnded(call, startedAt);
      },
    };
  }

  finished(request: FinishedRequest): void {
    if (this.ended !== undefined) return;
    this.ended = request;
    this.sinks.log(request, this.trace?.traceId ?? traceIdOf(this.arrival.traceContext));
    this.sinks.metrics?.finished(request, this.harness(), this.durations());
  }

  over(status: number | undefined): void {
    const spans = this.trace?.spans;
    if (spans === undefined || this.ended === undefined) return;
    spans.request(serverSpan(this.ended, this.arrival.scheme, this.harness(), status), this.startedAt);
  }

  private async step<L extends GatewayError, A>(
    step: Step,
    work: () => Promise<Either<L, A>>,
  ): Promise<Either<L, A>> {
    const startedAt = performance.now();
    const done = await work();
    this.trace?.spans?.step(step, E.isLeft(done) ? done.left.code : undefined, startedAt);
    return done;
  }

  private callEnded(call: MeasuredCall, startedAt: number): void {
    const spans = this.trace?.spans;
    this.callEndedAt = performance.now();
    this.sinks.metrics?.called(call, seconds(startedAt, this.callEndedAt));
    if (spans === undefined) return;
    const firstToken =
      this.firstContentAt === undefined ? undefined : seconds(startedAt, this.firstContentAt);
    spans.call(clientSpan(call, firstToken), startedAt);
  }

  private durations(): Durations {
    const first = this.firstContentAt;
    return {
      request: seconds(this.startedAt, performance.now()),
      firstToken: first === undefined ? undefined : seconds(this.startedAt, first),
      afterFirst:
        first === undefined || this.callEndedAt === undefined ? undefined : seconds(first, this.callEndedAt),
    };
  }

  private harness(): string {
    return agentHarness(this.arrival.userAgent).key;
  }
}

const seconds = (from: number, to: number): number => (to - from) / 1000;
