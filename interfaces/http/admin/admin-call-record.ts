import type { EndedAdminCall } from '../../../application/ports/admin-access.ts';
import type { Clock } from '../../../application/ports/clock.ts';
import { elapsedMs } from '../../../domain/shared/elapsed.ts';
import type { ErrorCode } from '../../../domain/shared/gateway-error.ts';
import type { RequestContext } from '../request-context.ts';

/** The status of a client disconnect before the answer (rule 35.25). */
const leftStatus = 499;

/** The only call that is recorded as a login. */
export const loginPath = '/api/v1/auth/login';

/** What is learned about one call of the admin API while it is handled. */
export class AdminCallRecord {
  readonly address: string;
  /** The user whose session is used, opened or ended. */
  userId: string | undefined;
  /** The e-mail address of a login, as typed. */
  email: string | undefined;
  errorCode: ErrorCode | undefined;
  /** Why a sign-in failed. */
  reason: string | undefined;

  constructor(address: string) {
    this.address = address;
  }

  /** Reports the call once, when it ends, however it ends. */
  reportWhenOver(
    { clock, onEnded }: { readonly clock: Clock; readonly onEnded: (call: EndedAdminCall) => void },
    { req, res, requestId, receivedAt }: RequestContext,
    route: string,
  ): void {
    const report = (): void =>
      onEnded({
        requestId,
        method: req.method ?? '',
        route,
        isLogin: route === loginPath,
        status: res.headersSent ? res.statusCode : leftStatus,
        errorCode: this.errorCode,
        ...(this.reason === undefined ? {} : { reason: this.reason }),
        latencyMs: elapsedMs(receivedAt, clock.now()),
        userId: this.userId,
        email: this.email,
        address: this.address,
      });
    if (res.closed) report();
    else res.once('close', report);
  }
}
