import type { Either } from 'fp-ts/lib/Either.js';
import type { StoredPayload } from '../../domain/payload/payload.ts';
import type { RedactionSource } from '../../domain/payload/redact.ts';
import type { PayloadHeaders } from '../../domain/payload/wrap.ts';
import type { RequestLogId } from '../../domain/request-log/request-ids.ts';
import type { ApiFamily } from '../../domain/routing/model.ts';
import type { GatewayError } from '../../domain/shared/gateway-error.ts';
import type { UpstreamFault } from '../../domain/upstream/upstream-fault.ts';
import type { AskTerms, ReadFault } from '../model-request.ts';
import type { CallerAnswer } from '../caller-answer.ts';
import type { SharedText } from './shared-text.ts';
import type { AnswerPart, CallTerms, PreparedCall } from './upstream.ts';

/** What a body is redacted by, and what is kept beside it. */
export interface Redaction {
  readonly headers: PayloadHeaders;
  readonly callerKey: readonly string[];
  readonly source: RedactionSource;
  readonly maxBytes: number;
}

/** A large body, and the ownership scope that sent it: scopes take turns. */
export interface LargeBody {
  /** Of its request. */
  readonly id: string;
  readonly text: SharedText;
  readonly scope: string;
  readonly family: ApiFamily;
  /** More JSON values are refused before they are parsed. */
  readonly maxValues: number;
}

/** A large answer of an upstream, to a request of this family and scope. */
export interface LargeAnswer {
  readonly requestLogId: RequestLogId;
  readonly scope: string;
  readonly family: ApiFamily;
  readonly terms: CallTerms;
  readonly parts: readonly AnswerPart[];
  /** What an upstream's own words are cleaned of. */
  readonly source: RedactionSource;
}

/**
 * Work on large bodies, beside the event loop: what takes a tenth of a second or more must not hold up the requests of
 * others. A left of `overloaded` says that the memory for such work ran out.
 */
export interface LargeBodies {
  readonly read: (body: LargeBody) => Promise<Either<ReadFault, AskTerms>>;
  /** Makes the upstream's own request of it, or tells what in it the upstream cannot express. Nothing is sent. */
  readonly prepare: (body: LargeBody, terms: CallTerms) => Promise<Either<GatewayError, PreparedCall>>;
  /** What may be kept of it; a body that is no JSON is null there. */
  readonly redacted: (body: LargeBody, request: Redaction) => Promise<StoredPayload>;
  /** Reads a whole answer, and puts it into the caller's words where those are others. */
  readonly readAnswer: (answer: LargeAnswer) => Promise<Either<UpstreamFault, CallerAnswer>>;
  /** What may be kept of an answer as the caller got it. */
  readonly redactedAnswer: (
    answer: Pick<LargeAnswer, 'scope'> & { readonly text: Uint8Array },
    rules: Omit<Redaction, 'headers'>,
  ) => Promise<StoredPayload>;
}
