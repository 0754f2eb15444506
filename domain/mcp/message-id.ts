import { isString, type Json } from '../shared/json.ts';
import { maxMcpIdChars } from '../shared/limits.ts';

/** The id of a JSON-RPC request; the protocol has no others. */
export type McpId = string | number;

export const isId = (id: Json | undefined): id is McpId =>
  isString(id) ? id.length <= maxMcpIdChars : typeof id === 'number' && Number.isSafeInteger(id);

/** Whether an answer is to this request. Some servers return the id of a request as text, which clients accept. */
export const isSameId = (answered: McpId, asked: McpId | undefined): boolean =>
  asked !== undefined && String(answered) === String(asked);
