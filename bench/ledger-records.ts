import type { AdmissionRequest, SettlementRecord } from '../application/ports/ledger.ts';
import type { Caller } from '../domain/identity/caller.ts';
import { usageCost } from '../domain/ledger/usage-cost-event.ts';
import { agentHarness } from '../domain/request-log/agent-harness.ts';
import { noTags } from '../domain/request-log/caller-tags.ts';
import { logMetadata } from '../domain/request-log/request-log.ts';

const policy = {
  requestMaxBytes: 65_536,
  responseMaxBytes: 65_536,
  streamMaxEvents: 128,
} as const;
const usage = { promptTokens: 20, completionTokens: 30, totalTokens: 50 };
const cost = usageCost(usage, { input: 150_000n, output: 600_000n, source: 'bench' });

export const askOf = (caller: Caller, id: string): AdmissionRequest => ({
  requestLogId: id,
  requestId: id,
  callerChoseRequestId: false,
  caller,
  claim: false,
});

/** What is settled of a request besides its ledger row. */
export interface Settled {
  readonly logged: boolean;
  readonly captured: boolean;
}

export function recordOf(caller: Caller, id: string, { logged, captured }: Settled): SettlementRecord {
  const model = { modelKey: 'fast', providerKey: 'simulated' };
  const attempt = { ...model, attemptNumber: 1, upstreamModel: 'simulated-fast', status: 'success' } as const;
  const times = { startedAt: Date.now(), completedAt: Date.now() };
  const capture = { ...policy, captureMode: captured ? 'redacted_payloads' : 'summary_only' } as const;
  const ofAttempt = { statusCode: 200, errorCode: undefined, errorDetail: undefined, stream: false };
  return {
    charge: { requestLogId: id, requestId: id, caller, ...model, upstreamModel: 'simulated-fast', cost },
    logged: logged
      ? {
          caller,
          blockedCostUsd: '0.000021',
          log: {
            requestLogId: id,
            requestId: id,
            ...model,
            resolvedModelKey: 'fast',
            statusCode: 200,
            errorCode: undefined,
            latencyMs: 5,
            firstTokenMs: undefined,
            usage,
            exposedToolCount: 0,
            invokedToolCount: 0,
            tags: noTags,
            userAgent: 'OpenAI/JS 7.55.0',
            harness: agentHarness('OpenAI/JS 7.55.0'),
            metadata: logMetadata('chat_completions', false, capture, undefined),
            attempts: [{ ...attempt, ...ofAttempt, ...times }],
          },
        }
      : undefined,
    release: undefined,
    deferrableTo: undefined,
  };
}
