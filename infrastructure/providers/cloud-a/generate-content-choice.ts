import type { AnswerNames } from '../../../application/ports/upstream.ts';
import { signed } from '../../../domain/calls/thought-signature.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import { maxTranslatedToolCalls } from '../../../domain/shared/limits.ts';
import { CandidateCalls, type CandidatePiece, signaturesIn } from './generate-content-calls.ts';
import type { CandidateContent } from './generate-content-candidate.ts';
import { finishReason } from './generate-content-finish.ts';
import { metadataOf } from './generate-content-metadata.ts';

/** One choice of a streamed answer. It changes as its pieces are read. */
export class StreamedChoice {
  /** The finish reason that was last sent to the caller. */
  finish: string | undefined;
  /** A finished choice that gets more content is under way again: models that run code finish before each result. */
  underWay = true;
  /** Why the answer is unusable. Everything after a fault is ignored. */
  fault: string | undefined;
  private readonly calls: CandidateCalls;
  private begun = false;
  private images = 0;

  constructor(index: number, about: AnswerNames) {
    this.calls = new CandidateCalls(index, about);
  }

  /**
   * The delta for this content; `undefined` if there is none. The first delta has the role. `reason` is
   * why the model has stopped, if it has.
   */
  delta(content: CandidateContent, reason: string | undefined): JsonObject | undefined {
    const last = reason !== undefined;
    this.underWay = !last && (this.underWay || saysMore(content));
    const calls = this.read(content, reason);
    const images = content.images.map((image, ordinal) => ({ index: this.images + ordinal, ...image }));
    this.images += images.length;
    const delta = {
      ...(content.text === '' ? {} : { content: content.text }),
      ...(calls.length === 0 ? {} : { tool_calls: calls.map(callDelta) }),
      ...(images.length === 0 ? {} : { images }),
      ...metadataOf(content, signaturesIn(calls)),
    };
    const says = Object.keys(delta).length > 0;
    if (this.begun) return says ? delta : undefined;
    if (!says && !last) return undefined;
    this.begun = true;
    return { role: 'assistant', content: calls.length > 0 ? null : '', ...delta };
  }

  private read(content: CandidateContent, reason: string | undefined): readonly CandidatePiece[] {
    const read = content.calls.flatMap((call) => this.calls.read(call));
    if (this.calls.count > maxTranslatedToolCalls)
      this.fault ??= 'The upstream sent too many tool calls in one answer.';
    this.fault ??= this.calls.fault;
    return reason === undefined ? read : [...read, ...this.calls.close(reason)];
  }

  /** The finish reason of the chat completion; `undefined` if it was already sent. */
  finished(reason: string): string | undefined {
    const finish = finishReason(reason, this.calls.count > 0);
    if (finish === this.finish) return undefined;
    this.finish = finish;
    return finish;
  }
}

/** Whether the content has more than the sources of the answer and signatures of earlier content. */
const saysMore = ({ text, calls, images, others, reasoning }: CandidateContent): boolean =>
  text !== '' ||
  [calls, images, others].some((parts) => parts.length > 0) ||
  reasoning.some(({ thinking }) => thinking !== '');

function callDelta({ index, id, name, text, signature }: CandidatePiece): JsonObject {
  const more = signed(signature);
  return name === undefined
    ? { index, function: { arguments: text }, ...more }
    : { index, id, type: 'function', function: { name, arguments: text }, ...more };
}
