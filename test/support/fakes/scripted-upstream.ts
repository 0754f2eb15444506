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

/** Chunks that come at once, something else that happens between two of them, or what ends the stream. */
export type Step = readonly Chunk[] | End | (() => unknown);

/** What an upstream does with the one call that it gets. */
export interface Script {
  /** It cannot express the request. */
  readonly refusal?: GatewayError;
  /** Happens after the call was sent and before its answer. */
  readonly meanwhile?: () => unknown;
  /** It has answered 2xx whatever comes next; told by `answer` where it is not given. */
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

/** An upstream that does what its script says, and writes down what it was told. */
export class ScriptedUpstream implements Upstream {
  readonly calls: UpstreamCall[] = [];
  readonly traceContexts: Readonly<Record<string, string>>[] = [];
  /** `cancel`, `cancel within 30000 ms`, `end within 1000 ms`, in order. */
  readonly orders: string[] = [];
  /** Errors with which what came of an unfinished event was answered. */
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
          // Whoever cancels in a step ends the stream before the next one.
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

/** A step may be an event that grows: so many bytes of it are there. */
export const growing = (bytes: number) => () => bytes;

async function heldBy(
  step: () => unknown,
  hold: (bytes: number) => GatewayError | undefined,
): Promise<GatewayError | undefined> {
  const found = await step();
  return typeof found === 'number' ? hold(found) : undefined;
}

/** Lets everything happen that waits for nothing but its turn. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const broken = E.left<UpstreamFault>({ kind: 'transport' });
const brokenOff: End = {
  kind: 'failed',
  error: prematureEnd({ kind: 'fault', reason: upstreamError({ kind: 'transport' }).message }),
};
