import { sharedLookup } from './shared-lookup.ts';

/**
 * How long one of several addresses of a name is tried before the next. A lost packet is sent again after a second, but
 * Node tries for half a second only: the connection failed where the next address cannot be reached, such as an IPv6
 * address from a network without IPv6.
 */
const perAddressMs = 1500;

/** How connections are opened, within that many milliseconds. */
export const connectOptions = (timeoutMs: number, lookup = sharedLookup()) => ({
  timeout: timeoutMs,
  lookup,
  autoSelectFamilyAttemptTimeout: Math.ceil(Math.min(perAddressMs, timeoutMs / 2)),
});
