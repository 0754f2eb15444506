import { generationUsage } from '../ledger/usage.ts';
import {
  isAbsent,
  isArray,
  isObject,
  isString,
  type Json,
  type JsonObject,
  numberOf,
  objectsOf,
} from '../shared/json.ts';
import { maxCountedToolCalls } from '../shared/limits.ts';
import { type Observation, observation, type StreamObserver } from '../upstream/observation.ts';

/** Usage of a chunk or completion: top-level first, then where one upstream keeps it alone, `x_groq.usage`. */
export function reportedUsage(answer: JsonObject): Json | undefined {
  if (!isAbsent(answer['usage'])) return answer['usage'];
  const groq = answer['x_groq'];
  return isObject(groq) ? (groq['usage'] ?? undefined) : undefined;
}

export function observeCompletion(completion: JsonObject): Observation {
  let invokedToolCount = 0;
  for (const { message } of objectsOf(completion['choices']))
    if (isObject(message)) invokedToolCount += callsOf(message).length;
  return observation(reportedUsage(completion), generationUsage, invokedToolCount);
}

/** The calls of a message or delta, the legacy single one too. */
const callsOf = (message: JsonObject): readonly JsonObject[] => [
  ...objectsOf(message['tool_calls']),
  ...(isLegacyCall(message['function_call']) ? [message['function_call']] : []),
];

/** Some upstreams send the legacy field in every message, with empty strings in it: that is no call. */
const isLegacyCall = (call: Json | undefined): call is JsonObject =>
  isObject(call) && [call['name'], call['arguments']].some((part) => isString(part) && part !== '');

/** Watches a chat stream beside the pipeline: chunks are only read. Usage repeated in a stream: the last one counts. */
export class ChatObserver implements StreamObserver {
  private usage: Json | undefined;
  private readonly calls = new Set<string>();

  see(chunk: JsonObject): void {
    const reported = reportedUsage(chunk);
    if (!isAbsent(reported)) this.usage = reported;
    const choices = chunk['choices'];
    if (!isArray(choices)) return;
    for (const choice of choices) if (isObject(choice)) this.seeDelta(choice);
  }

  private seeDelta(choice: JsonObject): void {
    const delta = choice['delta'];
    if (!isObject(delta)) return;
    const of = numberOf(choice['index']) ?? 0;
    if (isLegacyCall(delta['function_call'])) this.count(`${of}:function_call`);
    if (isArray(delta['tool_calls']))
      for (const call of objectsOf(delta['tool_calls'])) this.count(`${of}:${this.callName(call)}`);
  }

  /** Pieces of one call share its index; a call without an index comes whole, and its id or name tells it. */
  private callName(call: JsonObject): string {
    const index = numberOf(call['index']);
    if (index !== undefined) return String(index);
    if (isString(call['id'])) return `id:${call['id'].slice(0, 128)}`;
    return `#${this.calls.size}`;
  }

  private count(call: string): void {
    if (this.calls.size < maxCountedToolCalls) this.calls.add(call);
  }

  observed(): Observation {
    return observation(this.usage, generationUsage, this.calls.size);
  }
}
