import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { AnswerNames } from '../../../application/ports/upstream.ts';
import { chatCompletion } from '../../../domain/chat/chat-envelope.ts';
import { signed } from '../../../domain/calls/thought-signature.ts';
import {
  isAbsent,
  isDeeperThan,
  type JsonObject,
  numberOf,
  parseExactObject,
} from '../../../domain/shared/json.ts';
import { maxJsonDepth } from '../../../domain/shared/limits.ts';
import { answerObject, protocolFault, type UpstreamFault } from '../../../domain/upstream/upstream-fault.ts';
import { upstreamFailure, type Sanitise } from '../../../domain/upstream/upstream-words.ts';
import { type CandidatePiece, CandidateCalls, signaturesIn } from './generate-content-calls.ts';
import {
  type Block,
  blockOf,
  candidatesOf,
  finishMessageOf,
  finishReason,
  platformReasons,
  reasonOf,
  blockedCandidate,
} from './generate-content-finish.ts';
import { logprobsOf } from './generate-content-logprobs.ts';
import { type CandidateContent, contentOf, isMalformed } from './generate-content-candidate.ts';
import { finishMetadata, metadataOf } from './generate-content-metadata.ts';
import { chatUsage } from './generate-content-usage.ts';

/**
 * A whole generate-content answer as a chat completion. A blocked prompt becomes an empty completion that finishes with
 * `content_filter`. An error body with status 200 is an error, and so is an answer without candidates.
 */
export function generatedCompletion(
  text: string,
  about: AnswerNames,
  sanitise: Sanitise,
): Either<UpstreamFault, JsonObject> {
  const parsed = answerObject(text);
  if (E.isLeft(parsed)) return parsed;
  const { error, usageMetadata } = parsed.right;
  const billed = chatUsage(usageMetadata);
  const blocked = blockOf(parsed.right);
  if (!isAbsent(error) || (candidatesOf(parsed.right).length === 0 && blocked === undefined)) {
    const failure = upstreamFailure(parsed.right, 'The upstream answered without `candidates`.', sanitise);
    return protocolFault(failure, billed);
  }
  if (isDeeperThan(parsed.right, maxJsonDepth))
    return protocolFault('The upstream sent an answer that is nested too deeply.', billed);
  if (isMalformed(parsed.right)) return protocolFault('The upstream sent a malformed answer.', billed);
  const answer = parseExactObject(text);
  const choices =
    blocked === undefined
      ? choicesOf(candidatesOf(answer), about, sanitise)
      : E.right([blockedChoice(blocked, sanitise)]);
  if (E.isLeft(choices)) return protocolFault(choices.left, billed);
  const usage = chatUsage(answer['usageMetadata']);
  return E.right(chatCompletion(about, choices.right, usage === undefined ? {} : { usage }));
}

/** Left: why one of them is unusable. */
function choicesOf(
  candidates: readonly JsonObject[],
  about: AnswerNames,
  sanitise: Sanitise,
): Either<string, readonly JsonObject[]> {
  const choices: JsonObject[] = [];
  for (const [position, candidate] of candidates.entries()) {
    const index = numberOf(candidate['index']) ?? position;
    const calls = new CandidateCalls(index, about);
    const content = contentOf(candidate);
    const pieces = [...content.calls.flatMap((call) => calls.read(call)), ...calls.close(stopOf(candidate))];
    if (calls.fault !== undefined) return E.left(calls.fault);
    choices.push(choiceOf(candidate, index, content, pieces, sanitise));
  }
  return E.right(choices);
}

/** A whole answer without a reason is complete. */
const stopOf = (candidate: JsonObject): string => reasonOf(candidate) ?? 'STOP';

function choiceOf(
  candidate: JsonObject,
  index: number,
  content: CandidateContent,
  pieces: readonly CandidatePiece[],
  sanitise: Sanitise,
): JsonObject {
  const calls = wholeCalls(pieces);
  const finish = finishReason(stopOf(candidate), calls.length > 0);
  const message = {
    role: 'assistant',
    content: content.text === '' && calls.length > 0 ? null : content.text,
    refusal: finish === 'content_filter' ? refusalText(finishMessageOf(candidate), sanitise) : null,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(content.images.length === 0 ? {} : { images: content.images }),
    ...metadataOf(content, signaturesIn(pieces), platformReasons(candidate)),
  };
  return { index, message, logprobs: logprobsOf(candidate), finish_reason: finish };
}

const blockedChoice = (block: Block, sanitise: Sanitise): JsonObject => ({
  index: 0,
  message: {
    role: 'assistant',
    content: '',
    refusal: refusalText(block.message, sanitise),
    ...finishMetadata(blockedCandidate(block)),
  },
  logprobs: null,
  finish_reason: 'content_filter',
});

/** The platform's explanation of why it withheld an answer. */
export const refusalText = (message: string | undefined, sanitise: Sanitise): string | null =>
  message === undefined ? null : sanitise(message);

/** Joins the pieces of calls. */
function wholeCalls(pieces: readonly CandidatePiece[]): readonly JsonObject[] {
  const calls: CandidatePiece[] = [];
  for (const piece of pieces) {
    const before = calls[piece.index] ?? { ...piece, text: '' };
    const signature = piece.signature ?? before.signature;
    calls[piece.index] = { ...before, text: before.text + piece.text, signature };
  }
  return calls.map(({ id, name = '', text, signature }) => ({
    id,
    type: 'function',
    function: { name, arguments: text },
    ...signed(signature),
  }));
}
