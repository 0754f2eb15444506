import { describe, expect, it } from '@jest/globals';
import type { CaptureMode } from '../../../domain/request-log/capture-policy.ts';
import { logMetadata } from '../../../domain/request-log/request-log.ts';

const policy = (captureMode: CaptureMode) => ({
  captureMode,
  requestMaxBytes: 65_536,
  responseMaxBytes: 32_768,
  streamMaxEvents: 128,
});

describe('metadata_json', () => {
  it.each(['chat_completions', 'messages', 'responses', 'embeddings'] as const)(
    'has operation, stream and payload_policy, and nothing else: %s',
    (operation) => {
      expect(logMetadata(operation, true, policy('redacted_payloads'), undefined)).toStrictEqual({
        operation,
        stream: true,
        payload_policy: {
          capture_mode: 'redacted_payloads',
          request_max_bytes: 65_536,
          response_max_bytes: 32_768,
          stream_max_events: 128,
          version: 'builtin:v2',
        },
      });
    },
  );

  it.each(['disabled', 'summary_only', 'redacted_payloads'] as const)('has the capture mode %s', (mode) => {
    expect(logMetadata('chat_completions', false, policy(mode), undefined)).toMatchObject({
      stream: false,
      payload_policy: { capture_mode: mode },
    });
  });

  it('has `accounting` if there is any', () => {
    expect(
      logMetadata('chat_completions', false, policy('summary_only'), { blocked_cost_usd: '0.5' }),
    ).toMatchObject({ operation: 'chat_completions', accounting: { blocked_cost_usd: '0.5' } });
  });

  it('has notes on what was not sent upstream, beside its other members', () => {
    const notes = { reasoning: { thinking: 'left_out' } };
    expect(logMetadata('messages', true, policy('summary_only'), undefined, notes)).toStrictEqual({
      ...logMetadata('messages', true, policy('summary_only'), undefined),
      ...notes,
    });
  });
});
