import { idInCall } from '../calls/call-pieces.ts';
import { ObjectText } from '../calls/object-text.ts';
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
    if (isObject(message)) invokedToolCount += callsOf(message).length;
  const usage = reportedUsage(completion);
  return withAdditionalUsage(observation(usage, generationUsage, invokedToolCount), usage);
}

/** The calls of a message or delta, including the legacy single one. */
function callsOf(message: JsonObject): readonly JsonObject[] {
  const calls = objectsOf(message['tool_calls']);
  const legacy = message['function_call'];
  return calls.length === 0 && isLegacyCall(legacy) ? [legacy] : calls;
}

/**
 * Some upstreams send the legacy field in every message, filled with empty strings. That is not a call. Some repeat in
 * it the call that `tool_calls` has.
 */
const isLegacyCall = (call: Json | undefined): call is JsonObject =>
  isObject(call) && [call['name'], call['arguments']].some((part) => isString(part) && part !== '');

const isNamed = ({ function: of }: JsonObject): boolean =>
  isObject(of) && isString(of['name']) && of['name'] !== '';

/** Whether the piece has all arguments of its call. */
function isWhole({ function: of }: JsonObject): boolean {
  const text = new ObjectText();
  if (isObject(of) && isString(of['arguments'])) text.see(of['arguments']);
  return text.complete && !text.goesOn;
}

/** Observes a chat stream without changing its chunks. */
export class ChatObserver implements StreamObserver {
  private usage: Json | undefined;
  /** Calls by choice and index, with the id of each. */
  private readonly calls = new Map<string, string | undefined>();
  /** Where a call came whole and without an id: the next named piece there is another call. */
  private readonly whole = new Set<string>();

  see(chunk: JsonObject): void {
    this.usage = streamedUsage(this.usage, chunk);
    const choices = chunk['choices'];
    if (!isArray(choices)) return;
    // Some upstreams stream the whole message in one chunk. After deltas it only repeats them.
    const member = this.calls.size === 0 ? 'message' : 'delta';
    for (const choice of choices)
      if (isObject(choice)) this.seeDelta(choice, choice['delta'] ?? choice[member]);
  }

  private seeDelta(choice: JsonObject, delta: Json | undefined): void {
    if (!isObject(delta)) return;
    const of = numberOf(choice['index']) ?? 0;
    const calls = objectsOf(delta['tool_calls']);
    for (const call of calls) this.seeCall(of, call);
    if (calls.length === 0 && isLegacyCall(delta['function_call'])) this.count(`${of}:function_call`);
  }

  /**
   * The pieces of one call share its index, but some upstreams give all parallel calls the same index. There, a named
   * piece begins another call when its id differs, or when it has no id and the call before it came whole. Calls
   * without an index are told apart by id; without an id, each named piece begins a call.
   */
  private seeCall(choice: number, call: JsonObject): void {
    const index = numberOf(call['index']);
    const id = idInCall(call).slice(0, 128);
    const at = `${choice}:${index}`;
    if (index === undefined) this.countUnnumbered(choice, id, isNamed(call));
    else if (id && isNamed(call) && (this.calls.get(at) || id) !== id) this.count(`${at}:${id}`);
    else if (!id && isNamed(call)) this.countNamed(at, call);
    else this.count(at, id);
  }

  private countNamed(at: string, call: JsonObject): void {
    this.count(this.whole.has(at) ? `${at}:#${this.calls.size}` : at);
    if (this.calls.has(at) && !this.calls.get(at) && isWhole(call)) this.whole.add(at);
  }

  private countUnnumbered(choice: number, id: string, named: boolean): void {
    if (id) this.count(`${choice}:id:${id}`);
    else if (named || this.calls.size === 0) this.count(`${choice}:#${this.calls.size}`);
  }

  private count(call: string, id?: string): void {
    if (this.calls.size < maxCountedToolCalls && !this.calls.has(call)) this.calls.set(call, id);
  }

  observed(): Observation {
    return withAdditionalUsage(observation(this.usage, generationUsage, this.calls.size), this.usage);
  }
}
