import type { Caller } from '../identity/caller.ts';

export type CaptureMode = 'disabled' | 'summary_only' | 'redacted_payloads';

/** The current payload policy, stored in each row's `metadata_json.payload_policy`. */
export interface PayloadPolicy {
  readonly captureMode: CaptureMode;
  readonly requestMaxBytes: number;
  readonly responseMaxBytes: number;
  readonly streamMaxEvents: number;
}

/** The current policy version value. */
export const payloadPolicyVersion = 'builtin:v2';

/**
 * `disabled` writes no log rows for any family or caller. Otherwise service accounts and team keys always have log
 * rows, and users have them when their `request_logging_enabled` is set (rule 42.8).
 */
export const isLogged = (mode: CaptureMode, caller: Caller): boolean =>
  mode !== 'disabled' && (caller.keyOwner.kind !== 'user' || caller.keyOwner.requestLoggingEnabled);

/** Whether the bodies of a caller's requests are kept, redacted. */
export const isKept = (mode: CaptureMode, caller: Caller): boolean =>
  mode === 'redacted_payloads' && isLogged(mode, caller);
