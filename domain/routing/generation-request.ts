import { type OfferedTool, offeredMcpTools } from '../mcp/referenced-servers.ts';
import { isObject, type Json, type JsonObject } from '../shared/json.ts';
import type { JsonDocument } from '../shared/json-document.ts';
import type { Place } from '../shared/place.ts';
import type { Capability, CapabilityFields } from './capabilities.ts';

/** A reading view of the caller's untouched body, in a family whose answers a model writes. */
export interface GenerationRequest {
  readonly document: JsonDocument;
  readonly model: string;
  readonly stream: boolean;
  readonly needs: readonly Capability[];
  /** The fields in which the body asks for them. */
  readonly fields: CapabilityFields;
  /** The number of tools of any type in the request, counted shallowly; 0 when there are none. */
  readonly exposedToolCount: number;
  readonly mcpTools: readonly OfferedTool[];
  readonly calls?: KnownCalls;
}

/** What the calls of a translated answer must agree with, in a family whose answers are translated. */
export interface KnownCalls {
  /** The ids of the conversation's calls: callers find the result of a call by its id alone. */
  readonly ids: readonly string[];
  /** The caller's names of tools that have another one upstream, by that name. */
  readonly toolNames: ReadonlyMap<string, string>;
}

/** What each family expresses in its own fields. */
interface FamilyTerms {
  readonly tools: readonly JsonObject[];
  /** Where the conversation brings further tools. */
  readonly laterTools?: Place;
  /** Where the body has something visual, such as an image or a document; `undefined` when nowhere. */
  readonly visual: string | undefined;
  /** The format that the answer must have. */
  readonly format: Json | undefined;
  /** Where it asks for the other capabilities, if not in the fields of chat completions. */
  readonly fields: Omit<CapabilityFields, 'vision'>;
}

export function generationRequest(
  family: 'chat_completions' | 'responses',
  document: JsonDocument,
  model: string,
  { tools, laterTools, visual, format, fields }: FamilyTerms,
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
