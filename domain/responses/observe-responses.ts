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

/** Output items that are tool calls, hosted ones too: `function_call`, `web_search_call`, `mcp_call` and their like. */
const isToolCall = (item: Json | undefined): item is JsonObject =>
  isObject(item) && isString(item['type']) && item['type'].endsWith('_call');

const callsIn = (response: JsonObject): number => objectsOf(response['output']).filter(isToolCall).length;

export const observeResponse = (response: JsonObject): Observation =>
  observation(response['usage'], generationUsage, callsIn(response));

/**
 * Watches a responses stream beside the pipeline. Tool calls are counted as their items come; an upstream that only
 * pretends to stream tells them in the output of its terminal event alone. Usage is that of the last response object
 * that tells any.
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

  /** An item comes twice, added and done; its place in the output tells that it is the same one. */
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
