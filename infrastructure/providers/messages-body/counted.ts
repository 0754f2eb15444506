import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { WholeAnswer } from '../../../application/ports/upstream.ts';
import { tokenCount } from '../../../domain/ledger/usage.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import { answerObject, protocolFault, type UpstreamFault } from '../../../domain/upstream/upstream-fault.ts';
import { upstreamFailure, type Sanitise } from '../../../domain/upstream/upstream-words.ts';

/** The names that upstreams give the count. */
export type CountField = 'input_tokens' | 'inputTokens' | 'totalTokens';

/** An upstream's count in the shape of the messages API, `{input_tokens}`. An answer without a count is a fault. */
export function readCount(
  body: Buffer,
  field: CountField,
  sanitise: Sanitise,
): Either<UpstreamFault, WholeAnswer> {
  const parsed = answerObject(body.toString('utf8'));
  if (E.isLeft(parsed)) return parsed;
  const count = tokenCount(parsed.right[field]);
  if (count !== undefined) {
    const value: JsonObject = { input_tokens: count };
    return E.right({ value, text: JSON.stringify(value) });
  }
  const failure = upstreamFailure(parsed.right, `The upstream answered without \`${field}\`.`, sanitise);
  return protocolFault(failure);
}
