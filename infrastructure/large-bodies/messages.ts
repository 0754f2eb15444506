import type { Either } from 'fp-ts/lib/Either.js';
import type { RequestTerms, ReadFault } from '../../application/model-request.ts';
import type { LargeAnswer, LargeBody, Redaction } from '../../application/ports/large-bodies.ts';
import type { CallTerms } from '../../application/ports/upstream.ts';
import type { CallerAnswer } from '../../application/caller-answer.ts';
import type { StoredPayload } from '../../domain/payload/payload.ts';
import type { GatewayError } from '../../domain/shared/gateway-error.ts';
import type { UpstreamFault } from '../../domain/upstream/upstream-fault.ts';
import type { ProviderConfig } from '../config/provider-config.ts';
import type { WrittenCall } from '../providers/written.ts';

/** The tasks of the thread and their answers: plain data, because nothing else can be sent to a thread. */
export interface Tasks {
  readonly read: {
    readonly input: { readonly body: LargeBody };
    readonly answer: Either<ReadFault, RequestTerms>;
  };
  readonly write: {
    readonly input: { readonly body: LargeBody; readonly terms: CallTerms; readonly config: ProviderConfig };
    readonly answer: Either<GatewayError, WrittenCall>;
  };
  readonly redact: {
    readonly input: { readonly body: LargeBody; readonly redaction: Redaction };
    readonly answer: StoredPayload;
  };
  readonly readAnswer: {
    readonly input: { readonly answer: LargeAnswer; readonly config: ProviderConfig };
    readonly answer: Either<UpstreamFault, CallerAnswer>;
  };
  readonly redactAnswer: {
    readonly input: { readonly text: Uint8Array; readonly rules: Omit<Redaction, 'headers'> };
    readonly answer: StoredPayload;
  };
}

export type TaskKind = keyof Tasks;

export type Task = {
  readonly [K in TaskKind]: { readonly kind: K; readonly input: Tasks[K]['input'] };
}[TaskKind];

/** The answer to the one task in progress; a defect carries its message. */
export type TaskAnswer =
  | { readonly kind: 'done'; readonly value: Tasks[TaskKind]['answer'] }
  | { readonly kind: 'defect'; readonly message: string };
