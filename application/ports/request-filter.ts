import type { RequestId } from '../../domain/request-log/request-ids.ts';

/** Filters common to all lists of what requests left behind; a row must match all that are given. */
export interface RequestFilter {
  readonly requestId?: RequestId | undefined;
  /** SHA-256 in hex of a request id of more than 1,024 bytes. */
  readonly longRequestIdSha256?: string | undefined;
  readonly apiKeyId?: string | undefined;
  readonly userId?: string | undefined;
  readonly teamId?: string | undefined;
  readonly from?: Date | undefined;
  /** Exclusive. */
  readonly until?: Date | undefined;
}
