import type { PricingStatus } from '../../domain/ledger/usage-cost-event.ts';
import type { Picodollars } from '../../domain/money/money.ts';
import type { RequestId, RequestLogId } from '../../domain/request-log/request-ids.ts';
import type { AttemptStatus } from '../../domain/request-log/request-log.ts';
import type { BespokeTag } from '../../domain/request-log/caller-tags.ts';
import type { Page, PageRequest } from './page.ts';
import type { RequestFilter } from './request-filter.ts';
import type { McpTokenOverhead } from './mcp-invocations.ts';

/** Filters of the request-log list; a row must match all that are given. */
export interface RequestLogFilter extends RequestFilter {
  readonly serviceAccountId?: string | undefined;
  readonly modelKey?: string | undefined;
  readonly providerKey?: string | undefined;
  readonly statusCode?: number | undefined;
  /** Whether the request failed (`isFailed`). */
  readonly failed?: boolean | undefined;
  readonly errorCode?: string | undefined;
  /** Requests of a person, or of a team; those of service accounts count as the team's. */
  readonly ownerKind?: 'user' | 'team' | undefined;
  /** Whether the request has a ledger row. */
  readonly inLedger?: boolean | undefined;
  /** The pricing status of that row. */
  readonly pricingStatus?: PricingStatus | undefined;
  readonly service?: string | undefined;
  readonly component?: string | undefined;
  readonly env?: string | undefined;
  readonly agentHarnessKey?: string | undefined;
  /** One bespoke tag pair. */
  readonly tag?: BespokeTag | undefined;
  readonly except?: RequestLogExcept | undefined;
}

/** Filters that can be inverted: every row except those with one value, including rows without any value. */
export type RequestLogExcept = Pick<
  RequestLogFilter,
  | 'apiKeyId'
  | 'userId'
  | 'teamId'
  | 'serviceAccountId'
  | 'modelKey'
  | 'providerKey'
  | 'statusCode'
  | 'errorCode'
  | 'service'
  | 'component'
  | 'env'
  | 'agentHarnessKey'
>;

/** An owner or a key by its present name; `undefined` when its row is gone. */
export interface NamedRow {
  readonly id: string;
  readonly name: string | undefined;
}

/** What the ledger has of a logged request; `cost` is set where there was a price. */
export interface LoggedCharge {
  readonly pricingStatus: PricingStatus;
  readonly unpricedReason: string | undefined;
  readonly cost: Picodollars | undefined;
}

/** A summary row as shown to admins. */
export interface ListedRequestLog {
  readonly requestLogId: RequestLogId;
  readonly requestId: RequestId;
  readonly apiKey: NamedRow | undefined;
  readonly user: NamedRow | undefined;
  readonly team: NamedRow | undefined;
  readonly serviceAccount: NamedRow | undefined;
  readonly modelKey: string | undefined;
  readonly resolvedModelKey: string | undefined;
  readonly providerKey: string | undefined;
  readonly statusCode: number;
  readonly errorCode: string | undefined;
  readonly latencyMs: number;
  readonly firstTokenMs: number | undefined;
  readonly promptTokens: number | undefined;
  readonly completionTokens: number | undefined;
  readonly totalTokens: number | undefined;
  /** `undefined` when the request is not in the ledger. */
  readonly charge: LoggedCharge | undefined;
  readonly hasPayload: boolean;
  readonly requestPayloadTruncated: boolean;
  readonly responsePayloadTruncated: boolean;
  readonly service: string | undefined;
  readonly component: string | undefined;
  readonly env: string | undefined;
  readonly bespokeTags: readonly BespokeTag[];
  readonly exposedToolCount: number | undefined;
  readonly invokedToolCount: number | undefined;
  readonly referencedMcpServerCount: number | undefined;
  readonly filteredToolCount: number | undefined;
  readonly userAgent: string | undefined;
  readonly agentHarnessKey: string | undefined;
  readonly agentHarnessLabel: string | undefined;
  /** JSON text. */
  readonly metadata: string;
  readonly occurredAt: Date;
}

export interface StoredAttempt {
  readonly attemptNumber: number;
  readonly providerKey: string;
  readonly upstreamModel: string;
  readonly status: AttemptStatus;
  readonly statusCode: number | undefined;
  readonly errorCode: string | undefined;
  readonly errorDetail: string | undefined;
  readonly stream: boolean;
  readonly startedAt: Date;
  readonly completedAt: Date;
  readonly latencyMs: number;
}

/** Sanitized bodies, as the JSON text that is stored. */
export interface StoredPayloads {
  readonly request: string | undefined;
  readonly response: string | undefined;
}

export interface RequestLogDetail {
  readonly log: ListedRequestLog;
  readonly payload: StoredPayloads | undefined;
  /** In order of attempt. */
  readonly attempts: readonly StoredAttempt[];
  readonly mcpTokenOverhead: McpTokenOverhead | undefined;
}

/** Request logs as retained. */
export interface RequestLogs {
  /** Newest first. */
  readonly page: (filter: RequestLogFilter, page: PageRequest) => Promise<Page<ListedRequestLog>>;
  readonly find: (requestLogId: RequestLogId) => Promise<RequestLogDetail | undefined>;
}
