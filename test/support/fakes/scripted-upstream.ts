import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type {
  Hold,
  Upstream,
  UpstreamCall,
  UpstreamExecution,
  UpstreamReply,
} from '../../../application/ports/upstream.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import type { StreamChunk, StreamEnd } from '../../../domain/shared/stream-event.ts';
import { prematureEnd, type UpstreamFault, upstreamError } from '../../../domain/upstream/upstream-fault.ts';

export type Chunk = StreamChunk<JsonObject>;
export type End = StreamEnd<JsonObject>;

/** Chunks that arrive together, another step between chunks, or the end of the stream. */
export type Step = readonly Chunk[] | End | (() => unknown);

/** What an upstream does with its one call. */
export interface Script {
  /** The upstream cannot express the request. */
  readonly refusal?: GatewayError;
  /** Runs after the call was sent and before its answer. */
  readonly meanwhile?: () => unknown;
  /** Whether it answered 2xx; derived from `answer` by default. */
  readonly accepts?: boolean;
  readonly answer: Either<
    UpstreamFault,
    UpstreamReply | { readonly kind: 'steps'; readonly steps: readonly Step[] }
  >;
}

export const says = (body: JsonObject): Script => {
  const answer = { value: body, text: JSON.stringify(body) };
  return { answer: E.right({ kind: 'whole', status: 200, answer }) };
};
export const streams = (...steps: readonly Step[]): Script => ({ answer: E.right({ kind: 'steps', steps }) });
export const fails = (fault: UpstreamFault): Script => ({ answer: E.left(fault) });

/** An upstream that follows a script, and records its calls. */
export class ScriptedUpstream implements Upstream {
  readonly calls: UpstreamCall[] = [];
  readonly traceContexts: Readonly<Record<string, string>>[] = [];
  /** `cancel`, `cancel within 30000 ms`, `end within 1000 ms`, in order. */
  readonly orders: string[] = [];
  /** Errors with which partial events were answered. */
  readonly held: (GatewayError | undefined)[] = [];
  private readonly script: () => Script;
  private readonly tell: (line: string) => void;

  constructor(script: () => Script, tell: (line: string) => void) {
    this.script = script;
    this.tell = tell;
  }

  readonly prepare: Upstream['prepare'] = (call) => {
    this.calls.push(call);
    const { refusal } = this.script();
    if (refusal !== undefined) return E.left(refusal);
    return E.right({ notes: { noted: 'by the upstream' }, begin: (trace, hold) => this.begin(trace, hold) });
  };

  private begin(traceContext: Readonly<Record<string, string>>, hold: Hold): UpstreamExecution {
    this.tell('sent upstream');
    this.traceContexts.push(traceContext);
    const { meanwhile, accepts, answer } = this.script();
    if (E.isRight(answer) && answer.right.kind === 'whole') hold(answer.right.answer.text.length);
    const cancelled = Promise.withResolvers<'cancelled'>();
    const replied = (async (): Promise<Either<UpstreamFault, UpstreamReply>> => {
      await Promise.resolve();
      await meanwhile?.();
      return E.map((reply: UpstreamReply | { kind: 'steps'; steps: readonly Step[] }) =>
        reply.kind === 'steps' ? this.stream(reply.steps, cancelled.promise) : reply,
      )(answer);
    })();
    return {
      reply: Promise.race([replied, cancelled.promise.then((): typeof broken => broken)]),
      accepted: () => accepts ?? E.isRight(answer),
      cancel: () => {
        this.orders.push('cancel');
        cancelled.resolve('cancelled');
      },
      cancelWithin: (ms) => void this.orders.push(`cancel within ${ms} ms`),
    };
  }

  private stream(steps: readonly Step[], cancelled: Promise<'cancelled'>): UpstreamReply {
    return {
      kind: 'stream',
      status: 200,
      endWithin: (ms) => void this.orders.push(`end within ${ms} ms`),
      forward: async (pass, hold) => {
        for (const step of steps) {
          // A cancellation in a step ends the stream before the next step.
          if ((await Promise.race([cancelled, turn()])) === 'cancelled') break;
          if (typeof step === 'function') this.held.push(await heldBy(step, hold));
          else if ('kind' in step) return step;
          else await pass(step);
        }
        return brokenOff;
      },
    };
  }
}

/** A step can be an event that grows: this many bytes of it have arrived. */
export const growing = (bytes: number) => () => bytes;

async function heldBy(
  step: () => unknown,
  hold: (bytes: number) => GatewayError | undefined,
): Promise<GatewayError | undefined> {
  const found = await step();
  return typeof found === 'number' ? hold(found) : undefined;
}

/** Waits until all pending turns of the event loop are done. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const broken = E.left<UpstreamFault>({ kind: 'transport' });
const brokenOff: End = {
  kind: 'failed',
  error: prematureEnd({ kind: 'fault', reason: upstreamError({ kind: 'transport' }).message }),
};
