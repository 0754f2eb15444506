import { type ErrorCode, errorStatus, type GatewayError, type Outcome, outcomeOf } from './gateway-error.ts';

/** The code of a request that failed or was abandoned, by which its log row and its attempt are found. */
export type EndCode = ErrorCode | 'client_closed';

/** Why a request failed or was abandoned. Only logs, metrics and payloads see `client_closed`: the caller is gone. */
export type RequestFailure = GatewayError | ClientClosed;

interface ClientClosed {
  readonly code: 'client_closed';
  readonly message: string;
}

/** The runtime's code for the fault of the upstream connection. */
export const faultCodeOf = (failure: RequestFailure | undefined): string | undefined =>
  failure === undefined || failure.code === 'client_closed' ? undefined : failure.upstream?.faultCode;

export const clientClosed: ClientClosed = { code: 'client_closed', message: 'The caller left.' };

/** A client disconnect is logged with status 499. */
const clientClosedStatus = 499;

/** The logged statuses that count as failures: from 400 up, except that of a client disconnect (rule 35.25). */
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
