import type { AnswerNames } from '../../../application/ports/upstream.ts';
import { chatChunk, writtenChunk } from '../../../domain/chat/chat-envelope.ts';
import {
  isObject,
  isAbsent,
  isDeeperThan,
  type JsonObject,
  numberOf,
  parseExactObject,
  parseJson,
} from '../../../domain/shared/json.ts';
import { maxChoices, maxJsonDepth } from '../../../domain/shared/limits.ts';
import type { TextFrame } from '../../../domain/shared/text-frame.ts';
import type { StreamEvent } from '../../../domain/shared/stream-event.ts';
import type { Ending, StreamMachine } from '../../../domain/shared/stream-machine.ts';
import { prematureEnd, streamFailure } from '../../../domain/upstream/upstream-fault.ts';
import {
  upstreamFailure,
  failureInStream,
  malformedEvent,
  type Sanitise,
} from '../../../domain/upstream/upstream-words.ts';
import { StreamedChoice } from './generate-content-choice.ts';
import {
  type Block,
  blockOf,
  candidatesOf,
  finishMessageOf,
  reasonOf,
  blockedCandidate,
} from './generate-content-finish.ts';
import { logprobsOf } from './generate-content-logprobs.ts';
import { finishMetadata } from './generate-content-metadata.ts';
import { refusalText } from './generate-content-response.ts';
import { isMalformed, contentOf } from './generate-content-candidate.ts';
import { chatUsage } from './generate-content-usage.ts';

type Event = StreamEvent<JsonObject>;

/**
 * A generate-content stream as chat chunks. The protocol has no `[DONE]`: the stream ends with its bytes, and is
 * complete if every candidate had a finish reason and no content after it. A blocked prompt may have no candidates.
 * Usage is repeated in each event; the last one counts, and is sent once, at the end.
 */
export const generateContentStream = (
  about: AnswerNames,
  sanitise: Sanitise,
): StreamMachine<StreamedAnswer, TextFrame, Event> => ({
  start: () => new StreamedAnswer(about, sanitise),
  step: (answer, frame) => [answer, answer.see(frame)],
  end: (answer, ending) => answer.end(ending),
});

/** The translation of one answer. It changes as events are read. */
class StreamedAnswer {
  private readonly about: AnswerNames;
  private readonly sanitise: Sanitise;
  private readonly choices = new Map<number, StreamedChoice>();
  private usage: JsonObject | undefined;
  private block: Block | undefined;
  private over = false;

  constructor(about: AnswerNames, sanitise: Sanitise) {
    this.about = about;
    this.sanitise = sanitise;
  }

  see(frame: TextFrame): readonly Event[] {
    if (this.over) return [];
    if (frame.kind === 'oversize') return this.fail('The upstream sent an event that is too large.');
    if (frame.data.trim() === '') return [];
    if (frame.data.trim() === '[DONE]' && this.mayEnd()) return this.end({ kind: 'eof' });
    const event = parseJson(frame.data);
    if (!isObject(event)) return this.failed(failureInStream(malformedEvent(event, this.sanitise)));
    if (!isAbsent(event['error']) || frame.event === 'error') {
      const failure = upstreamFailure(event, 'The upstream reported an error.', this.sanitise);
      return this.failed(failureInStream(failure));
    }
    if (isDeeperThan(event, maxJsonDepth))
      return this.fail('The upstream sent an event that is nested too deeply.');
    if (isMalformed(event)) return this.fail('The upstream sent a malformed event.');
    return this.learn(parseExactObject(frame.data));
  }

  end(ending: Ending): readonly Event[] {
    if (this.over) return [];
    const { block } = this;
    const withheld = block === undefined || this.hasFinish() ? [] : this.observe([blockedCandidate(block)]);
    if (!this.isFinished()) return this.failed(prematureEnd(ending));
    this.over = true;
    const usage =
      this.usage === undefined ? [] : [writtenChunk(this.chunk([], { usage: this.usage }), false)];
    return [...withheld, ...usage, { kind: 'done' }];
  }

  /** Whether a `[DONE]` is the end. Some proxies add one, although it is not part of this protocol. */
  private mayEnd(): boolean {
    return this.isFinished() || this.block !== undefined;
  }

  private hasFinish(): boolean {
    return [...this.choices.values()].some(({ finish }) => finish !== undefined);
  }

  private isFinished(): boolean {
    return this.choices.size > 0 && [...this.choices.values()].every(({ underWay }) => !underWay);
  }

  /** A blocked prompt is reported at the end, because candidates may follow nevertheless. */
  private learn(event: JsonObject): readonly Event[] {
    this.usage = chatUsage(event['usageMetadata']) ?? this.usage;
    this.block ??= blockOf(event);
    return this.observe(candidatesOf(event));
  }

  private observe(candidates: readonly JsonObject[]): readonly Event[] {
    const wasFinished = this.isFinished();
    const deltas: JsonObject[] = [];
    const finishes: JsonObject[] = [];
    for (const [position, candidate] of candidates.entries()) {
      const index = numberOf(candidate['index']) ?? position;
      const choice = this.choiceAt(index);
      const [delta, finish] = this.read(candidate, choice);
      if (choice.fault !== undefined) return this.fail(choice.fault);
      const logprobs = logprobsOf(candidate);
      if (delta !== undefined) deltas.push({ index, delta, logprobs, finish_reason: null });
      if (finish === undefined) continue;
      // They are sent once, with the content if there is any.
      const own = { delta: finishMetadata(candidate), logprobs: delta === undefined ? logprobs : null };
      finishes.push({ index, ...own, finish_reason: finish });
    }
    return [
      ...(deltas.length === 0 ? [] : [this.contentEvent(deltas, wasFinished, finishes.length === 0)]),
      ...(finishes.length === 0 ? [] : [writtenChunk(this.chunk(finishes), this.isFinished())]),
    ];
  }

  /** If choices finish once more, with reasons that the caller already has, this chunk is the terminal one. */
  private contentEvent(deltas: readonly JsonObject[], wasFinished: boolean, isLast: boolean): Event {
    const isFinished = this.isFinished();
    const chunk = writtenChunk(this.chunk(deltas), isLast && isFinished && !wasFinished);
    return wasFinished && !isFinished ? { ...chunk, reopens: true } : chunk;
  }

  private choiceAt(index: number): StreamedChoice {
    const choice = this.choices.get(index) ?? new StreamedChoice(index, this.about);
    this.choices.set(index, choice);
    if (this.choices.size > maxChoices) choice.fault = 'The upstream sent too many candidates.';
    return choice;
  }

  private read(
    candidate: JsonObject,
    choice: StreamedChoice,
  ): readonly [delta: JsonObject | undefined, finish: string | undefined] {
    const reason = reasonOf(candidate);
    const content = contentOf(candidate);
    const delta = choice.delta(content, reason);
    if (reason === undefined) return [delta, undefined];
    const finish = choice.finished(reason);
    const message = finish === 'content_filter' ? finishMessageOf(candidate) : undefined;
    const refusal = refusalText(message, this.sanitise);
    return [refusal === null ? delta : { ...delta, refusal }, finish];
  }

  private chunk(choices: readonly JsonObject[], more: JsonObject = {}): JsonObject {
    return chatChunk(this.about, choices, more);
  }

  private fail(message: string): readonly Event[] {
    return this.failed(streamFailure(message));
  }

  /** A failure carries the usage so far, so that it is logged. */
  private failed(error: ReturnType<typeof streamFailure>): readonly Event[] {
    this.over = true;
    const { usage } = this;
    return [{ kind: 'failed', error, ...(usage === undefined ? {} : { chunk: this.chunk([], { usage }) }) }];
  }
}
