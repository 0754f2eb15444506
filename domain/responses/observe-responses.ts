import { generationUsage } from '../ledger/usage.ts';
import {
  isAbsent,
  isObject,
  isString,
  type Json,
  type JsonObject,
  numberOf,
  objectsOf,
} from '../shared/json.ts';
import { maxCountedToolCalls } from '../shared/limits.ts';
import { type Observation, observation, type StreamObserver } from '../upstream/observation.ts';

/** Output items that are tool calls, hosted ones included: `function_call`, `web_search_call`, `mcp_call` etc. */
const isToolCall = (item: Json | undefined): item is JsonObject =>
  isObject(item) && isString(item['type']) && item['type'].endsWith('_call');

const callsIn = (response: JsonObject): number => objectsOf(response['output']).filter(isToolCall).length;

export const observeResponse = (response: JsonObject): Observation =>
  observation(response['usage'], generationUsage, callsIn(response));

/**
 * Observes a responses stream without changing it. Tool calls are counted as their items arrive. An upstream that only
 * pretends to stream lists them only in the output of its terminal event. The usage is that of the last response object
 * that reports any.
 */
export class ResponsesObserver implements StreamObserver {
  private usage: Json | undefined;
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
    return observation(this.usage, generationUsage, Math.max(this.calls.size, this.callsTogether));
  }
}
