import type { StoredPayload } from '../../domain/payload/payload.ts';
import type { RequestLogId } from '../../domain/request-log/request-ids.ts';

/** What is kept of one request's bodies, redacted. */
export interface KeptPayload {
  readonly request: StoredPayload;
  readonly response: StoredPayload;
}

/** The request that a payload belongs to: its summary row has both. */
export interface PayloadOf {
  readonly requestLogId: RequestLogId;
  /** The ownership scope. */
  readonly scope: string;
}

/** The memory that a payload takes until it is made. */
export interface HeldByPayload {
  readonly bytes: number;
  /** Called once the payload is made, or will not be, to free that memory. */
  readonly release: () => void;
}

/**
 * Stores payloads for summary rows that exist already. It never makes a caller wait. When the queue has no room,
 * measured in bytes, payload bodies are shed and counted; summary rows never are.
 */
export interface Payloads {
  /** `make` runs later in a turn of its own, if at all. */
  readonly keep: (
    of: PayloadOf,
    make: () => KeptPayload | Promise<KeptPayload>,
    held?: HeldByPayload,
  ) => void;
}
