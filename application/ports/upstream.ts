import type { Either } from 'fp-ts/lib/Either.js';
import type { ApiFamily, Route } from '../../domain/routing/model.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import type { StreamChunk, StreamEnd } from '../../domain/shared/stream-event.ts';
import type { GatewayError } from '../../domain/shared/gateway-error.ts';
import type { UpstreamFault } from '../../domain/upstream/upstream-fault.ts';
import type { SharedText } from './shared-text.ts';

/** One call to one upstream, without its body. */
export interface CallTerms {
  readonly route: Route;
  /** What the body is written in. */
  readonly family: ApiFamily;
  /** The caller's own body was of another family, whose clients send some things always. */
  readonly translated?: true;
  readonly stream: boolean;
  /** What a translated answer is called. */
  readonly answer: AnswerNames;
  /** The caller's `anthropic-beta` values, for upstreams that have an allow-list of them. */
  readonly betas: readonly string[];
}

/** One call to one upstream. */
export interface UpstreamCall extends CallTerms {
  /** JSON text: finished where the upstream takes it as written, else without the route's `extra_body`. */
  readonly body: string;
  /** `body` in UTF-8, in pieces, where most of it came in as bytes: who sends it as it is need not encode it. */
  readonly utf8?: readonly Uint8Array[] | undefined;
}

/** What a translated answer carries: the requested model id. One that passes through has the upstream's own names. */
export interface AnswerNames {
  readonly id: string;
  readonly model: string;
  readonly createdSecs: number;
}

/** A whole answer; `text` is what goes to the caller, `value` is for reading. */
export interface WholeAnswer {
  readonly value: JsonObject;
  readonly text: string | Uint8Array;
}

/**
 * Counts the bytes of a whole answer, or of an event that is not complete yet, among what the process holds, in place of
 * those counted before. Gives back the error that the call ends with where there is no room for them.
 */
export type Hold = (bytes: number) => GatewayError | undefined;

/** Bytes of one exchange's answer, and how many of the caller's inputs it is about. */
export interface AnswerPart {
  readonly text: SharedText;
  readonly inputs: number;
}

export type UpstreamReply =
  | { readonly kind: 'whole'; readonly status: number; readonly answer: WholeAnswer }
  /** So large that it is read beside the event loop; a call of several exchanges has several parts. */
  | {
      readonly kind: 'large';
      readonly status: number;
      readonly parts: readonly AnswerPart[];
      /** The call failed, after these parts had come: they may be billed. */
      readonly fault?: UpstreamFault;
    }
  | {
      readonly kind: 'stream';
      readonly status: number;
      /**
       * Hands chunks on as they come; where `pass` gives a promise, there is no room for more until it resolves, and
       * the upstream is held. An event that grows large before it is complete is counted with `hold`. Resolves with
       * what ends the stream, which is never passed. To be called once.
       */
      readonly forward: (
        pass: (chunks: readonly StreamChunk<JsonObject>[]) => Promise<void> | undefined,
        hold: Hold,
      ) => Promise<StreamEnd<JsonObject>>;
      /** From now on the stream may last this long at most, whatever was said before; then it is taken as ended. */
      readonly endWithin: (milliseconds: number) => void;
    };

export interface UpstreamExecution {
  /** Resolves when a stream's head or a whole answer is there; never rejects for what an upstream does. */
  readonly reply: Promise<Either<UpstreamFault, UpstreamReply>>;
  /** The upstream answered 2xx: it may bill, whatever comes next. */
  readonly accepted: () => boolean;
  /** Aborts the call; what is being waited for ends as a transport fault. */
  readonly cancel: () => void;
  /** Aborts the call unless it ends by itself within so many milliseconds. */
  readonly cancelWithin: (milliseconds: number) => void;
}

/** A call that can be sent. */
export interface PreparedCall {
  /** What was left out of the caller's request without a refusal: the log row's metadata say so. */
  readonly notes: JsonObject;
  /** W3C trace context goes upstream, lower-case names; nothing else of the caller's headers does. */
  readonly begin: (traceContext: Readonly<Record<string, string>>, hold: Hold) => UpstreamExecution;
}

export interface Upstream {
  /** Makes the upstream's own request of it, or tells what in it the upstream cannot express. Nothing is sent. */
  readonly prepare: (call: UpstreamCall) => Either<GatewayError, PreparedCall>;
}
