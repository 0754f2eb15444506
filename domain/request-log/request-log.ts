import type { ReferencedServers } from '../mcp/referenced-servers.ts';
import type { TokenUsage } from '../ledger/usage.ts';
import type { ApiFamily } from '../routing/model.ts';
import type { JsonObject } from '../shared/json.ts';
import type { EndCode } from '../shared/request-failure.ts';
import type { AgentHarness } from './agent-harness.ts';
import type { CallerTags } from './caller-tags.ts';
import { type PayloadPolicy, payloadPolicyVersion } from './capture-policy.ts';
import type { RequestId, RequestLogId } from './request-ids.ts';

/** The summary row of a logged request. Counts are null when the dimension is unavailable. */
export interface RequestLog {
  readonly requestLogId: RequestLogId;
  readonly requestId: RequestId;
  readonly modelKey: string | undefined;
  readonly resolvedModelKey: string | undefined;
  readonly providerKey: string | undefined;
  readonly statusCode: number;
  readonly errorCode: EndCode | undefined;
  readonly latencyMs: number;
  /**
   * From the request's arrival to the first content of a stream that was sent to its caller; `undefined` when none was.
   */
  readonly firstTokenMs: number | undefined;
  readonly usage: TokenUsage | undefined;
  readonly exposedToolCount: number | undefined;
  readonly invokedToolCount: number | undefined;
  /** Absent when no MCP servers are configured. */
  readonly mcp?: ReferencedServers | undefined;
  readonly tags: CallerTags;
  readonly userAgent: string | undefined;
  readonly harness: AgentHarness;
  readonly metadata: JsonObject;
  readonly attempts: readonly Attempt[];
}

export type AttemptStatus = 'success' | 'provider_error' | 'stream_start_error' | 'stream_error';

/** One upstream provider execution. Retries are disabled, so a request has none or one. */
export interface Attempt {
  readonly attemptNumber: number;
  readonly providerKey: string;
  readonly upstreamModel: string;
  readonly status: AttemptStatus;
  readonly statusCode: number | undefined;
  readonly errorCode: EndCode | undefined;
  readonly errorDetail: string | undefined;
  readonly stream: boolean;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly completedAt: number;
}

/**
 * The shape of `metadata_json`: `operation`, `stream` and `payload_policy`, and, if there is something to record,
 * `accounting` and notes on what was not sent upstream (`reasoning`).
 */
export const logMetadata = (
  operation: ApiFamily,
  stream: boolean,
  policy: PayloadPolicy,
  accounting: JsonObject | undefined,
  notes: JsonObject = {},
): JsonObject => ({
  ...notes,
  operation,
  stream,
  payload_policy: {
    capture_mode: policy.captureMode,
    request_max_bytes: policy.requestMaxBytes,
    response_max_bytes: policy.responseMaxBytes,
    stream_max_events: policy.streamMaxEvents,
    version: payloadPolicyVersion,
  },
  ...(accounting === undefined ? {} : { accounting }),
});
