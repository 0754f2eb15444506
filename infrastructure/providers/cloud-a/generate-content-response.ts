import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { AnswerNames } from '../../../application/ports/upstream.ts';
import { callId, chatCompletion } from '../../../domain/chat/chat-envelope.ts';
import { signed } from '../../../domain/chat/thought-signature.ts';
import {
  isAbsent,
  isDeeperThan,
  type JsonObject,
  membersOf,
  numberOf,
  parseExactObject,
} from '../../../domain/shared/json.ts';
import { maxJsonDepth } from '../../../domain/shared/limits.ts';
import { answerObject, protocolFault, type UpstreamFault } from '../../../domain/upstream/upstream-fault.ts';
import { upstreamFailure } from '../../../domain/upstream/upstream-words.ts';
import { PartialArguments } from './generate-content-arguments.ts';
import { blockOf, candidatesOf, finishMessageOf, finishReason, reasonOf } from './generate-content-finish.ts';
import { logprobsOf } from './generate-content-logprobs.ts';
import { idOf, isMalformed, callName, type CandidateCall, contentOf } from './generate-content-candidate.ts';
import { metadataOf } from './generate-content-metadata.ts';
import { callSignature } from './generate-content-signatures.ts';
import { chatUsage } from './generate-content-usage.ts';

/** Makes an upstream's own words fit for the caller. */
type Sanitise = (message: string) => string;

/**
 * A whole generate-content answer as a chat completion. A blocked prompt is a completion that says nothing and
 * finishes with `content_filter`; an error body under status 200 is an error, and so is anything that is no answer.
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
      ? candidatesOf(answer).map((candidate, position) => choiceOf(candidate, position, about, sanitise))
      : [blockedChoice(blocked.message, sanitise)];
  const usage = chatUsage(answer['usageMetadata']);
  return E.right(chatCompletion(about, choices, usage === undefined ? {} : { usage }));
}

function choiceOf(
  candidate: JsonObject,
  position: number,
  about: AnswerNames,
  sanitise: Sanitise,
): JsonObject {
  const index = numberOf(candidate['index']) ?? position;
  const content = contentOf(candidate);
  const calls = content.calls
    .filter(({ call }) => callName(call) !== '')
    .map(({ call, signature }, ordinal) => {
      const id = idOf(call) ?? callId(about, index, ordinal);
      return { whole: wholeCall({ call, signature }, id), id, signature };
    });
  const signatures = calls.flatMap(({ id, signature }) =>
    signature === undefined ? [] : [callSignature(id, signature)],
  );
  const finish = finishReason(reasonOf(candidate) ?? 'STOP', calls.length > 0);
  const message = {
    role: 'assistant',
    content: content.text === '' && calls.length > 0 ? null : content.text,
    refusal: finish === 'content_filter' ? refusalText(finishMessageOf(candidate), sanitise) : null,
    ...(calls.length === 0 ? {} : { tool_calls: calls.map(({ whole }) => whole) }),
    ...(content.images.length === 0 ? {} : { images: content.images }),
    ...metadataOf(content, signatures),
  };
  return { index, message, logprobs: logprobsOf(candidate), finish_reason: finish };
}

const blockedChoice = (message: string | undefined, sanitise: Sanitise): JsonObject => ({
  index: 0,
  message: { role: 'assistant', content: '', refusal: refusalText(message, sanitise) },
  logprobs: null,
  finish_reason: 'content_filter',
});

/** The platform's explanation of an answer that it withheld. */
export const refusalText = (message: string | undefined, sanitise: Sanitise): string | null =>
  message === undefined ? null : sanitise(message);

const wholeCall = ({ call, signature }: CandidateCall, id: string): JsonObject => ({
  id,
  type: 'function',
  function: { name: callName(call), arguments: wholeArguments(call) },
  ...signed(signature),
});

function wholeArguments({ args, partialArgs }: JsonObject): string {
  const pieces = new PartialArguments();
  pieces.take(partialArgs);
  return JSON.stringify(pieces.over(membersOf(args)));
}
