import type { RequestId } from '../../domain/request-log/request-ids.ts';

/** What every list of what requests left behind can be filtered by; a row must meet all that are given. */
export interface RequestFilter {
  readonly requestId?: RequestId | undefined;
  /** SHA-256 in hex of an id of more than 1,024 bytes. */
  readonly longRequestIdSha256?: string | undefined;
  readonly apiKeyId?: string | undefined;
  readonly userId?: string | undefined;
  readonly teamId?: string | undefined;
  readonly from?: Date | undefined;
  /** Exclusive. */
  readonly until?: Date | undefined;
}
