import type { Either } from 'fp-ts/lib/Either.js';
import type { KnownCalls } from '../../domain/routing/generation-request.ts';
import type { ApiFamily, Route } from '../../domain/routing/model.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import type { StreamChunk, StreamEnd } from '../../domain/shared/stream-event.ts';
import type { GatewayError } from '../../domain/shared/gateway-error.ts';
import type { UpstreamFault } from '../../domain/upstream/upstream-fault.ts';
import type { SharedText } from './shared-text.ts';

/** One call to one upstream, without its body. */
export interface CallTerms {
  readonly route: Route;
  /** The family that the body is written in. */
  readonly family: ApiFamily;
  /** Set when the caller's own body was of another family, whose clients always send some fields. */
  readonly translated?: true;
  readonly stream: boolean;
  /** The names that a translated answer carries. */
  readonly answer: AnswerNames;
  /** The caller's `anthropic-beta` values, for upstreams with an allow-list of them. */
  readonly betas: readonly string[];
}

/** One call to one upstream. */
export interface UpstreamCall extends CallTerms {
  /** JSON text: complete where the upstream takes it as written, otherwise without the route's `extra_body`. */
  readonly body: string;
  /** `body` in UTF-8, in pieces, when most of it arrived as bytes, so that sending it unchanged needs no encoding. */
  readonly utf8?: readonly Uint8Array[] | undefined;
}

/**
 * The names in a translated answer; `model` is the requested model id. An answer that passes through keeps the
 * upstream's.
 */
export interface AnswerNames {
  readonly id: string;
  readonly model: string;
  readonly createdSecs: number;
  readonly calls?: KnownCalls | undefined;
}

/** A whole answer; `text` is what the caller gets, `value` is for reading. */
export interface WholeAnswer {
  readonly value: JsonObject;
  readonly text: string | Uint8Array;
}

/**
 * Counts the bytes of a whole answer, or of an event that is not complete yet, as buffered by the process, replacing
 * the count before. Returns the error that the call ends with when there is no room for them.
 */
export type Hold = (bytes: number) => GatewayError | undefined;

/** The bytes of one exchange's answer, and how many of the caller's inputs they cover. */
export interface AnswerPart {
  readonly text: SharedText;
  readonly inputs: number;
}

export type UpstreamReply =
  | { readonly kind: 'whole'; readonly status: number; readonly answer: WholeAnswer }
  /** So large that it is read in a worker thread; a call of several exchanges has several parts. */
  | {
      readonly kind: 'large';
      readonly status: number;
      readonly parts: readonly AnswerPart[];
      /** The call failed after these parts had arrived: they may be billed. */
      readonly fault?: UpstreamFault;
    }
  | {
      readonly kind: 'stream';
      readonly status: number;
      /**
       * Passes chunks on as they arrive. When `pass` returns a promise, there is no room for more until it resolves,
       * and the upstream is paused. An event that grows large before it is complete is counted with `hold`. Resolves
       * with what ends the stream, which is never passed. Must be called only once.
       */
      readonly forward: (
        pass: (chunks: readonly StreamChunk<JsonObject>[]) => Promise<void> | undefined,
        hold: Hold,
      ) => Promise<StreamEnd<JsonObject>>;
      /** From now on the stream may last at most this long, whatever was set before; then it is treated as ended. */
      readonly endWithin: (milliseconds: number) => void;
    };

export interface UpstreamExecution {
  /** Resolves when a stream's head or a whole answer has arrived; never rejects for what an upstream does. */
  readonly reply: Promise<Either<UpstreamFault, UpstreamReply>>;
  /** The upstream answered 2xx, so it may bill, whatever follows. */
  readonly accepted: () => boolean;
  /** Aborts the call; whatever is being awaited ends as a transport fault. */
  readonly cancel: () => void;
  /** Aborts the call unless it ends by itself within that time. */
  readonly cancelWithin: (milliseconds: number) => void;
}

/** A call that is ready to be sent. */
export interface PreparedCall {
  /** What was left out of the caller's request without refusing it; the metadata of the log row say so. */
  readonly notes: JsonObject;
  /**
   * Of the caller's headers only W3C trace context goes upstream, with lower-case names, and allow-listed values of
   * `betas`.
   */
  readonly begin: (traceContext: Readonly<Record<string, string>>, hold: Hold) => UpstreamExecution;
}

export interface Upstream {
  /** Writes the upstream's own request, or reports what in the call the upstream cannot express. Nothing is sent. */
  readonly prepare: (call: UpstreamCall) => Either<GatewayError, PreparedCall>;
}
