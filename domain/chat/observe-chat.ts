import { callsOf, legacyCallOf } from '../calls/call-pieces.ts';
import { StreamedCall, StreamedCalls } from '../calls/streamed-calls.ts';
import { generationUsage } from '../ledger/usage.ts';
import {
  isAbsent,
  isArray,
  isObject,
  type Json,
  type JsonObject,
  numberOf,
  objectsOf,
} from '../shared/json.ts';
import { maxCountedToolCalls } from '../shared/limits.ts';
import { type Observation, observation, type StreamObserver } from '../upstream/observation.ts';
import { withAdditionalUsage } from '../upstream/used-beside.ts';

/** Usage of a chunk or completion: the top-level one, or else `x_groq.usage`, where one upstream reports it. */
export function reportedUsage(answer: JsonObject): Json | undefined {
  if (!isAbsent(answer['usage'])) return answer['usage'];
  const groq = answer['x_groq'];
  return isObject(groq) ? (groq['usage'] ?? undefined) : undefined;
}

/**
 * Usage of a stream after one more chunk: the last one reported counts (rule 36.13), except that one without counts
 * does not replace one with counts.
 */
export function streamedUsage(before: Json | undefined, chunk: JsonObject): Json | undefined {
  const reported = reportedUsage(chunk);
  if (isAbsent(reported)) return before;
  const isWorse = generationUsage(reported) === undefined && generationUsage(before) !== undefined;
  return isWorse ? before : reported;
}

export function observeCompletion(completion: JsonObject): Observation {
  let invokedToolCount = 0;
  for (const { message } of objectsOf(completion['choices']))
    if (isObject(message)) invokedToolCount += countOf(message);
  const usage = reportedUsage(completion);
  return withAdditionalUsage(observation(usage, generationUsage, invokedToolCount), usage);
}

function countOf(message: JsonObject): number {
  const { length } = callsOf(message);
  return length === 0 && legacyCallOf(message) !== undefined ? 1 : length;
}

/**
 * Characters of a stream's calls that are read to tell these apart: more than a model writes. Calls that begin later are
 * not counted.
 */
export const maxCallChars = 4 * 1024 * 1024;

/** Observes a chat stream without changing its chunks. Its calls are told apart as in a translation (rule 6.29). */
export class ChatObserver implements StreamObserver {
  private usage: Json | undefined;
  /** The calls of each choice that has any. */
  private readonly calls = new Map<number, StreamedCalls<StreamedCall>>();
  private callCount = 0;
  private callChars = 0;

  see(chunk: JsonObject): void {
    this.usage = streamedUsage(this.usage, chunk);
    const choices = chunk['choices'];
    if (!isArray(choices)) return;
    // Some upstreams stream the whole message in one chunk. After deltas it only repeats them.
    const member = this.callCount === 0 ? 'message' : 'delta';
    for (const choice of choices)
      if (isObject(choice)) this.seeDelta(choice, choice['delta'] ?? choice[member]);
  }

  private seeDelta(choice: JsonObject, delta: Json | undefined): void {
    if (!isObject(delta)) return;
    const index = numberOf(choice['index']) ?? 0;
    for (const piece of callsOf(delta)) {
      if (this.isFull()) return;
      const call = this.callsOfChoice(index).of(piece);
      this.callChars += call.learn(piece) + call.argue(piece).length;
    }
    if (legacyCallOf(delta) !== undefined && !this.isFull()) this.callsOfChoice(index).ofLegacy();
  }

  private isFull(): boolean {
    return this.callCount >= maxCountedToolCalls || this.callChars > maxCallChars;
  }

  private callsOfChoice(index: number): StreamedCalls<StreamedCall> {
    const known = this.calls.get(index);
    if (known !== undefined) return known;
    const calls = new StreamedCalls((ordinal) => {
      this.callCount += 1;
      return new StreamedCall(ordinal);
    });
    this.calls.set(index, calls);
    return calls;
  }

  observed(): Observation {
    return withAdditionalUsage(observation(this.usage, generationUsage, this.callCount), this.usage);
  }
}
