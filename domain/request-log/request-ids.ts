import type { Named } from '../shared/named.ts';

/** The id that the caller sees, and may have chosen (`x-request-id`). Several rows of the log may have the same. */
export type RequestId = Named<string, 'request_id'>;

/** The id of one row of the request log, which the gateway generates. */
export type RequestLogId = Named<string, 'request_log_id'>;
