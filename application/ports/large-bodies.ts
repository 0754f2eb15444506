import type { Either } from 'fp-ts/lib/Either.js';
import type { StoredPayload } from '../../domain/payload/payload.ts';
import type { RedactionSource } from '../../domain/payload/redact.ts';
import type { PayloadHeaders } from '../../domain/payload/wrap.ts';
import type { RequestLogId } from '../../domain/request-log/request-ids.ts';
import type { ApiFamily } from '../../domain/routing/model.ts';
import type { GatewayError } from '../../domain/shared/gateway-error.ts';
import type { UpstreamFault } from '../../domain/upstream/upstream-fault.ts';
import type { RequestTerms, ReadFault } from '../model-request.ts';
import type { CallerAnswer } from '../caller-answer.ts';
import type { SharedText } from './shared-text.ts';
import type { AnswerPart, CallTerms, PreparedCall } from './upstream.ts';

/** The rules by which a body is redacted, and the headers that are stored with it. */
export interface Redaction {
  readonly headers: PayloadHeaders;
  readonly callerKey: readonly string[];
  readonly source: RedactionSource;
  readonly maxBytes: number;
}

/** A large body, and the ownership scope that sent it: scopes take turns. */
export interface LargeBody {
  /** The id of its request. */
  readonly id: string;
  readonly text: SharedText;
  readonly scope: string;
  readonly family: ApiFamily;
  /** A body with more JSON values is rejected before it is parsed. */
  readonly maxValues: number;
}

/** A large answer of an upstream to a request of this family and scope. */
export interface LargeAnswer {
  readonly requestLogId: RequestLogId;
  readonly scope: string;
  readonly family: ApiFamily;
  readonly terms: CallTerms;
  readonly parts: readonly AnswerPart[];
  /** What is removed from an upstream's own words. */
  readonly source: RedactionSource;
}

/**
 * Work on large bodies in a worker thread, because anything that takes a tenth of a second or more must not delay the
 * requests of others. A left of `overloaded` means that the memory for such work is exhausted.
 */
export interface LargeBodies {
  readonly read: (body: LargeBody) => Promise<Either<ReadFault, RequestTerms>>;
  /** Writes the upstream's own request, or reports what in the body the upstream cannot express. Nothing is sent. */
  readonly prepare: (body: LargeBody, terms: CallTerms) => Promise<Either<GatewayError, PreparedCall>>;
  /** What may be kept of it, redacted; a body that is not JSON becomes null. */
  readonly redacted: (body: LargeBody, request: Redaction) => Promise<StoredPayload>;
  /** Reads a whole answer, and translates it for the caller where the caller speaks another family. */
  readonly readAnswer: (answer: LargeAnswer) => Promise<Either<UpstreamFault, CallerAnswer>>;
  /** What may be kept of an answer in the form in which the caller got it, redacted. */
  readonly redactedAnswer: (
    answer: Pick<LargeAnswer, 'scope'> & { readonly text: Uint8Array },
    rules: Omit<Redaction, 'headers'>,
  ) => Promise<StoredPayload>;
}
