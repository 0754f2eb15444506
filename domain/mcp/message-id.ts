import { isString, type Json } from '../shared/json.ts';
import { maxMcpIdChars } from '../shared/limits.ts';

/** The id of a JSON-RPC request; the protocol has no others. */
export type McpId = string | number;

export const isId = (id: Json | undefined): id is McpId =>
  isString(id) ? id.length <= maxMcpIdChars : typeof id === 'number' && Number.isSafeInteger(id);
