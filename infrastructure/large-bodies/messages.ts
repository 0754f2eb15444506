import type { Either } from 'fp-ts/lib/Either.js';
import type { AskTerms } from '../../application/model-request.ts';
import type { LargeBody, Redaction } from '../../application/ports/large-bodies.ts';
import type { CallTerms } from '../../application/ports/upstream.ts';
import type { StoredPayload } from '../../domain/payload/payload.ts';
import type { GatewayError } from '../../domain/shared/gateway-error.ts';
import type { ProviderConfig } from '../config/provider-config.ts';
import type { Written } from '../providers/written.ts';

/** What the thread is asked: plain data, as nothing else can be sent to a thread. */
export type Task =
  | { readonly kind: 'read'; readonly body: LargeBody }
  | {
      readonly kind: 'write';
      readonly body: LargeBody;
      readonly terms: CallTerms;
      readonly config: ProviderConfig;
    }
  | { readonly kind: 'redact'; readonly body: LargeBody; readonly redaction: Redaction };

/** What it answers to each. */
export interface Answers {
  readonly read: Either<GatewayError, AskTerms>;
  readonly write: Either<GatewayError, Written>;
  readonly redact: StoredPayload;
}

/** The answer to the one task that is under way; a defect is told by its message. */
export type Answer =
  | { readonly kind: 'done'; readonly value: Answers[Task['kind']] }
  | { readonly kind: 'defect'; readonly message: string; readonly stack: string | undefined };
