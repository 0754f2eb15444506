import type { Caller } from '../../domain/identity/caller.ts';
import type { UsageCost } from '../../domain/ledger/usage-cost-event.ts';
import type { CallerTags } from '../../domain/request-log/caller-tags.ts';
import type { ApiFamily } from '../../domain/routing/model.ts';
import type { ErrorCode, Outcome } from '../../domain/shared/gateway-error.ts';
import type { Verdict } from './ledger.ts';

/** Everything that logs and metrics tell of an ended request; no bodies, no secrets. */
export interface FinishedRequest {
  readonly requestId: string;
  readonly family: ApiFamily;
  readonly stream: boolean;
  readonly outcome: Outcome;
  readonly statusCode: number;
  readonly errorCode: ErrorCode | 'client_closed' | undefined;
  readonly latencyMs: number;
  readonly caller: Caller | undefined;
  readonly modelKey: string | undefined;
  readonly providerKey: string | undefined;
  readonly upstreamModel: string | undefined;
  readonly cost: UsageCost | undefined;
  /** What became of its records; `lost` when the database could not take them. */
  readonly settled: Verdict['kind'] | 'lost';
  readonly usageUnusable: boolean;
  readonly tags: CallerTags;
}

export interface RequestObserver {
  /** Called exactly once per request to a public path that serves models. */
  readonly finished: (request: FinishedRequest) => void;
}
