import { type OfferedTool, offeredMcpTools } from '../mcp/referenced-servers.ts';
import { isObject, type Json, type JsonObject } from '../shared/json.ts';
import type { JsonDocument } from '../shared/json-document.ts';
import type { Place } from '../shared/place.ts';
import type { Capability, CapabilityFields } from './capabilities.ts';

/** A reading view over the caller's untouched body, of a family whose answers a model writes. */
export interface GenerationRequest {
  readonly document: JsonDocument;
  readonly model: string;
  readonly stream: boolean;
  readonly needs: readonly Capability[];
  /** Where the body asks for them. */
  readonly fields: CapabilityFields;
  /** Shallow count of request tools, of whatever type; 0 when there are none. */
  readonly exposedToolCount: number;
  readonly mcpTools: readonly OfferedTool[];
}

/** What each family says in words of its own. */
interface Asked {
  readonly tools: readonly JsonObject[];
  /** Where it brings tools besides, in the conversation. */
  readonly laterTools?: Place;
  /** Where it shows the model something; undefined: nowhere. */
  readonly visual: string | undefined;
  /** The format that the answer must have. */
  readonly format: Json | undefined;
  /** Where it asks for the rest, if not in the fields that chat completions have. */
  readonly fields: Omit<CapabilityFields, 'vision'>;
}

export function generationRequest(
  family: 'chat_completions' | 'responses',
  document: JsonDocument,
  model: string,
  { tools, laterTools, visual, format, fields }: Asked,
): GenerationRequest {
  const stream = document.value['stream'] === true;
  const needs: Capability[] = [family];
  if (stream) needs.push('stream');
  if (tools.length > 0 || laterTools !== undefined) needs.push('tools');
  if (visual !== undefined) needs.push('vision');
  if (isObject(format) && format['type'] === 'json_schema') needs.push('json_schema');
  return {
    document,
    model,
    stream,
    needs,
    fields: {
      ...fields,
      ...(tools.length > 0 || laterTools === undefined ? {} : { tools: laterTools }),
      ...(visual === undefined ? {} : { vision: visual }),
    },
    exposedToolCount: tools.length,
    mcpTools: offeredMcpTools(tools),
  };
}
