import type { Owner } from '../../domain/identity/caller.ts';
import type { InvocationStatus, McpName, PolicyResult } from '../../domain/mcp/invocation.ts';
import type { StoredInvocation } from '../../domain/payload/invocation-payload.ts';
import type { RequestId, RequestLogId } from '../../domain/request-log/request-ids.ts';
import type { Page, PageAsk } from './page.ts';
import type { RequestFilter } from './request-filter.ts';

/** What every record of an invocation says. */
interface Invocation {
  readonly invocationId: string;
  readonly requestId: RequestId;
  readonly requestLogId: RequestLogId | undefined;
  readonly apiKeyId: string | undefined;
  /** Undefined when nobody was authenticated. */
  readonly owner: Owner | undefined;
  readonly server: McpName;
  readonly tool: McpName;
  readonly status: InvocationStatus;
  readonly policyResult: PolicyResult;
  readonly latencyMs: number;
  readonly errorCode: string | undefined;
}

/** An invocation to be stored, redacted already. */
export interface InvocationRecord extends Invocation {
  readonly payload: StoredInvocation;
}

/** What the MCP tools of a request took of its context window: pressure, not spend. */
export interface TokenOverheadRecord {
  readonly requestId: RequestId;
  readonly requestLogId: RequestLogId | undefined;
  readonly serverCount: number;
  readonly toolCount: number;
  /** Of the definitions of these tools; undefined where they were not known. */
  readonly toolDefinitionBytes: number | undefined;
  /** Undefined where nobody counted them: no token count is estimated. */
  readonly toolDefinitionTokens: number | undefined;
  readonly toolResultTokens: number | undefined;
}

/**
 * Records in the order in which they came. It never makes anybody wait: where there is no room, by the bytes that wait,
 * arguments and results are left out first, and whole records last.
 */
export interface InvocationQueue {
  /** `make` is called in a turn of its own, if at all; `isWhole`: there is room for arguments and result. */
  readonly add: (make: (isWhole: boolean) => InvocationRecord, heldBytes: number) => void;
}

/** Summaries behind the answers: it never makes anybody wait, and leaves out what there is no room for. */
export interface McpOverheads {
  /** A second summary of the same request takes the place of the first. */
  readonly put: (record: TokenOverheadRecord) => void;
}

/** A request that was logged, whose tool calls may be recorded already. */
export interface LinkedRequest {
  readonly requestLogId: RequestLogId;
  readonly requestId: RequestId;
  /** The ownership scope of its caller. */
  readonly scope: string;
}

/** Behind the answers, too: records of calls with the request's id and owner get its log's id. */
export interface InvocationLinks {
  readonly logged: (request: LinkedRequest) => void;
}

export interface McpTokenOverhead extends TokenOverheadRecord {
  readonly occurredAt: Date;
}

/** Filters of the list; a row must meet all that are given. */
export interface InvocationFilter extends RequestFilter {
  readonly invocationId?: string | undefined;
  readonly requestLogId?: RequestLogId | undefined;
  readonly serverId?: string | undefined;
  readonly toolId?: string | undefined;
  readonly status?: InvocationStatus | undefined;
  readonly policyResult?: PolicyResult | undefined;
}

export interface ListedInvocation extends Invocation {
  /** JSON text, as it is stored. */
  readonly arguments: string | undefined;
  readonly result: string | undefined;
  readonly argumentsTruncated: boolean;
  readonly resultTruncated: boolean;
  readonly occurredAt: Date;
}

export interface McpInvocations {
  /** Newest first. */
  readonly page: (filter: InvocationFilter, ask: PageAsk) => Promise<Page<ListedInvocation>>;
  readonly find: (invocationId: string) => Promise<ListedInvocation | undefined>;
}
