import { generationUsage, tokenCount } from '../ledger/usage.ts';
import {
  isAbsent,
  isObject,
  isString,
  type Json,
  type JsonObject,
  membersOf,
  numberOf,
  objectsOf,
} from '../shared/json.ts';
import { maxCountedToolCalls } from '../shared/limits.ts';
import {
  type AdditionalUsage,
  commonModel,
  type Observation,
  observation,
  type StreamObserver,
  withBeside,
} from '../upstream/observation.ts';

/** Output items that are tool calls, hosted ones included: `function_call`, `web_search_call`, `mcp_call` etc. */
const isToolCall = (item: Json | undefined): item is JsonObject =>
  isObject(item) && isString(item['type']) && item['type'].endsWith('_call');

const callsIn = (response: JsonObject): number => objectsOf(response['output']).filter(isToolCall).length;

/**
 * The tokens of the image model that a hosted tool called, which the provider bills in addition to the answer and
 * reports outside of its usage (rule 38.16); `undefined` when there are none, or their counts are unusable.
 */
function usedForImages({ tool_usage: used, tools }: JsonObject): AdditionalUsage | undefined {
  const reported = membersOf(membersOf(used)['image_gen']);
  const input = tokenCount(reported['input_tokens'] ?? 0);
  const output = tokenCount(reported['output_tokens'] ?? 0);
  if (input === undefined || output === undefined || input + output === 0) return undefined;
  const model = commonModel(objectsOf(tools).filter(({ type }) => type === 'image_generation'));
  return { imageGeneration: { model, input_tokens: input, output_tokens: output } };
}

export const observeResponse = (response: JsonObject): Observation =>
  withBeside(observation(response['usage'], generationUsage, callsIn(response)), usedForImages(response));

/**
 * Observes a responses stream without changing it. Tool calls are counted as their items arrive. An upstream that only
 * pretends to stream lists them only in the output of its terminal event. The usage is that of the last response object
 * that reports any.
 */
export class ResponsesObserver implements StreamObserver {
  private usage: Json | undefined;
  private images: AdditionalUsage | undefined;
  private readonly calls = new Set<string>();
  private callsTogether = 0;

  see(payload: JsonObject): void {
    const { response, item } = payload;
    if (isObject(response)) this.seeResponse(response);
    if (isToolCall(item) && this.calls.size < maxCountedToolCalls)
      this.calls.add(this.callName(payload, item));
  }

  private seeResponse(response: JsonObject): void {
    if (!isAbsent(response['usage'])) this.usage = response['usage'];
    this.images = usedForImages(response) ?? this.images;
    this.callsTogether = Math.max(this.callsTogether, callsIn(response));
  }

  /** Each item comes twice, added and done. Its place in the output, or else its id, shows that it is the same. */
  private callName(payload: JsonObject, item: JsonObject): string {
    const index = numberOf(payload['output_index']);
    if (index !== undefined) return String(index);
    const { id, call_id: callId } = item;
    const name = isString(id) ? id : callId;
    return isString(name) ? `id:${name.slice(0, 128)}` : `#${this.calls.size}`;
  }

  observed(): Observation {
    const calls = Math.max(this.calls.size, this.callsTogether);
    return withBeside(observation(this.usage, generationUsage, calls), this.images);
  }
}
