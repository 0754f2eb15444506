import type { StoredPayload } from '../../domain/payload/payload.ts';

/** What is kept of one request's bodies, redacted. */
export interface KeptPayload {
  readonly request: StoredPayload;
  readonly response: StoredPayload;
}

/**
 * Keeps payloads beside the summary rows, which are there already. It never makes anybody wait: what there is no room
 * for while the database is slow is shed and counted, payload bodies first and summary rows never.
 */
export interface Payloads {
  /** `make` is called in a turn of its own, if at all. */
  readonly keep: (requestLogId: string, make: () => KeptPayload) => void;
}
