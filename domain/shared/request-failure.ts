import { type ErrorCode, errorStatus, type GatewayError, type Outcome, outcomeOf } from './gateway-error.ts';

/** What a request that did not end well, its log row and its attempt are found under. */
export type EndCode = ErrorCode | 'client_closed';

/** Why a request did not end well. Nobody is there to be told that the caller left: logs, metrics and payloads are. */
export type RequestFailure = GatewayError | ClientClosed;

interface ClientClosed {
  readonly code: 'client_closed';
  readonly message: string;
}

/** What the runtime calls the fault of the connection to the upstream. */
export const faultCodeOf = (failure: RequestFailure | undefined): string | undefined =>
  failure === undefined || failure.code === 'client_closed' ? undefined : failure.upstream?.faultCode;

export const clientClosed: ClientClosed = { code: 'client_closed', message: 'The caller left.' };

/** A caller that left is logged with status 499. */
const clientClosedStatus = 499;

/** The statuses of logged requests that failed: those from one on, but for that of callers who left (rule 35.25). */
export const errorStatuses = { from: 400, except: clientClosedStatus };

export const isFailed = (statusCode: number): boolean =>
  statusCode >= errorStatuses.from && statusCode !== errorStatuses.except;

export const endStatus = (failure: RequestFailure | undefined): number => {
  if (failure === undefined) return 200;
  return failure.code === 'client_closed' ? clientClosedStatus : errorStatus(failure);
};

export const endOutcome = (failure: RequestFailure | undefined): Outcome => {
  if (failure === undefined) return 'success';
  return failure.code === 'client_closed' ? failure.code : outcomeOf[failure.code];
};
