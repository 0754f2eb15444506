import type { StoredPayload } from '../../domain/payload/payload.ts';
import type { RequestLogId } from '../../domain/request-log/request-ids.ts';

/** What is kept of one request's bodies, redacted. */
export interface KeptPayload {
  readonly request: StoredPayload;
  readonly response: StoredPayload;
}

/** Whose payload it is: the summary row is beside it by both. */
export interface PayloadOf {
  readonly requestLogId: RequestLogId;
  /** The ownership scope. */
  readonly scope: string;
}

/** What a payload holds of memory until it is made. */
export interface HeldByPayload {
  readonly bytes: number;
  /** Is called once it is made, or will not be: what it held may go. */
  readonly release: () => void;
}

/**
 * Keeps payloads beside the summary rows, which are there already. It never makes anybody wait: what there is no room
 * for, by the bytes that wait, is shed and counted, payload bodies first and summary rows never.
 */
export interface Payloads {
  /** `make` is called in a turn of its own, if at all. */
  readonly keep: (
    of: PayloadOf,
    make: () => KeptPayload | Promise<KeptPayload>,
    held?: HeldByPayload,
  ) => void;
}
