import type { Owner } from '../../domain/identity/caller.ts';
import type { InvocationStatus, McpName, PolicyResult } from '../../domain/mcp/invocation.ts';
import type { StoredInvocation } from '../../domain/payload/invocation-payload.ts';
import type { RequestId, RequestLogId } from '../../domain/request-log/request-ids.ts';
import type { Page, PageRequest } from './page.ts';
import type { RequestFilter } from './request-filter.ts';

/** Fields common to all records of an invocation. */
interface Invocation {
  readonly invocationId: string;
  readonly requestId: RequestId;
  readonly requestLogId: RequestLogId | undefined;
  readonly apiKeyId: string | undefined;
  /** `undefined` when nobody was authenticated. */
  readonly owner: Owner | undefined;
  readonly server: McpName;
  readonly tool: McpName;
  readonly status: InvocationStatus;
  readonly policyResult: PolicyResult;
  readonly latencyMs: number;
  readonly errorCode: string | undefined;
}

/** An invocation to store, already redacted. */
export interface InvocationRecord extends Invocation {
  readonly payload: StoredInvocation;
}

/** How much of a request's context window its MCP tools took: pressure, not spend. */
export interface TokenOverheadRecord {
  readonly requestId: RequestId;
  readonly requestLogId: RequestLogId | undefined;
  readonly serverCount: number;
  readonly toolCount: number;
  /** The size of these tools' definitions; `undefined` when they were not known. */
  readonly toolDefinitionBytes: number | undefined;
  /** `undefined` when nobody counted them: no token count is estimated. */
  readonly toolDefinitionTokens: number | undefined;
  readonly toolResultTokens: number | undefined;
}

/**
 * Records in the order of arrival. It never makes a caller wait. When the queue has no room, measured in bytes,
 * arguments and results are left out first, and whole records last.
 */
export interface InvocationQueue {
  /**
   * `make` runs later in a turn of its own, if at all. `isWhole` is true when there is room for arguments and result.
   */
  readonly add: (make: (isWhole: boolean) => InvocationRecord, heldBytes: number) => void;
}

/** Summaries, written after the answers. It never makes a caller wait, and drops what there is no room for. */
export interface McpOverheads {
  /** A second summary of the same request replaces the first. */
  readonly put: (record: TokenOverheadRecord) => void;
}

/** A logged request whose tool calls may already be recorded. */
export interface LinkedRequest {
  readonly requestLogId: RequestLogId;
  readonly requestId: RequestId;
  /** The ownership scope of its caller. */
  readonly scope: string;
}

/** Also written after the answers: records of calls with the request's id and owner get the id of its log row. */
export interface InvocationLinks {
  readonly logged: (request: LinkedRequest) => void;
}

export interface McpTokenOverhead extends TokenOverheadRecord {
  readonly occurredAt: Date;
}

/** Filters of the list; a row must match all that are given. */
export interface InvocationFilter extends RequestFilter {
  readonly invocationId?: string | undefined;
  readonly requestLogId?: RequestLogId | undefined;
  readonly serverId?: string | undefined;
  readonly toolId?: string | undefined;
  readonly status?: InvocationStatus | undefined;
  readonly policyResult?: PolicyResult | undefined;
}

export interface ListedInvocation extends Invocation {
  /** JSON text, as stored. */
  readonly arguments: string | undefined;
  readonly result: string | undefined;
  readonly argumentsTruncated: boolean;
  readonly resultTruncated: boolean;
  readonly occurredAt: Date;
}

export interface McpInvocations {
  /** Newest first. */
  readonly page: (filter: InvocationFilter, page: PageRequest) => Promise<Page<ListedInvocation>>;
  readonly find: (invocationId: string) => Promise<ListedInvocation | undefined>;
}
