import * as E from 'fp-ts/lib/Either.js';
import type { AdmitTest } from '../application/ports/model-tests.ts';
import { overloaded, tooManyRequests } from '../domain/shared/gateway-error.ts';
import type { CutOff } from '../interfaces/http/cut-off.ts';
import type { LoadGate } from '../interfaces/http/load-gate.ts';
import { controllableLink } from '../interfaces/http/request-context.ts';

/** A test is aborted after this time: an admin waits for it, and proxies wait about as long. */
const maxTestMs = 60_000;

/** Tests pass the same gate as callers' requests, and are cut off with them at shutdown, or at their own timeout. */
export const testSlot =
  (gate: LoadGate, cut: Pick<CutOff, 'whenCut'>, maxMs = maxTestMs): AdmitTest =>
  (ownershipScope) => {
    const lease = gate.enter();
    if (lease === undefined) return E.left(overloaded);
    if (!lease.belongsTo(ownershipScope)) {
      lease.release();
      return E.left(tooManyRequests);
    }
    const { link, lose } = controllableLink();
    const timer = setTimeout(() => lose('client_closed'), maxMs);
    const forget = cut.whenCut(() => lose('shutting_down'));
    const leave = (): void => {
      clearTimeout(timer);
      forget();
      lease.release();
    };
    return E.right({ memory: lease, link, leave });
  };
