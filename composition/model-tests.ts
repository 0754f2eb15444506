import * as E from 'fp-ts/lib/Either.js';
import type { CallerLink, CallerLoss } from '../application/model-request.ts';
import type { EnterTestRoom } from '../application/ports/model-tests.ts';
import { overloaded, tooManyRequests } from '../domain/shared/gateway-error.ts';
import type { CutOff } from '../interfaces/http/cut-off.ts';
import type { LoadGate } from '../interfaces/http/load-gate.ts';

/** A test is over after this long: an admin waits for it, and proxies wait about as long. */
const maxTestMs = 60_000;

/** Tests pass the gate that callers' requests pass, and are cut off where these are, or when their time is over. */
export const testRoom =
  (gate: LoadGate, cut: Pick<CutOff, 'whenCut'>, maxMs = maxTestMs): EnterTestRoom =>
  (ownershipScope) => {
    const lease = gate.enter();
    if (lease === undefined) return E.left(overloaded);
    if (!lease.belongsTo(ownershipScope)) {
      lease.release();
      return E.left(tooManyRequests);
    }
    const { link, lose } = losable();
    const timer = setTimeout(() => lose('client_closed'), maxMs);
    const forget = cut.whenCut(() => lose('shutting_down'));
    const leave = (): void => {
      clearTimeout(timer);
      forget();
      lease.release();
    };
    return E.right({ memory: lease, link, leave });
  };

/** A link that is lost at most once. */
function losable(): { readonly link: CallerLink; readonly lose: (why: CallerLoss) => void } {
  let lost: CallerLoss | undefined;
  const callbacks: ((why: CallerLoss) => void)[] = [];
  return {
    link: {
      gone: () => lost !== undefined,
      lost: () => lost,
      whenLost: (callback) => {
        if (lost === undefined) callbacks.push(callback);
        else callback(lost);
      },
    },
    lose: (why) => {
      if (lost !== undefined) return;
      lost = why;
      for (const callback of callbacks) callback(why);
    },
  };
}
