import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { UpstreamFault } from '../../../domain/upstream/upstream-fault.ts';
import { requestsUntil } from '../../requests-until.ts';

/** A credential, and when it expires (milliseconds since the epoch; infinity: never). */
export interface CredentialLease<A> {
  readonly value: A;
  readonly endsAt: number;
  /** When to look for a newer one at the latest: one that never expires may still be replaced where it comes from. */
  readonly renewAt?: number;
}

/** Where a credential comes from. Its reasons of failure go into error messages for callers. */
export interface CredentialSource<A> {
  /** The name of the credential in warnings for the operator: `the access token`. */
  readonly name: string;
  /** Left: the reason of the failure, as a clause without secrets. The signal aborts when the renewal has timed out. */
  readonly obtain: (signal: AbortSignal) => Promise<Either<string, CredentialLease<A>>>;
  /** The same clause for an error that `obtain` rejects with, because libraries throw when they get no credential. */
  readonly explain: (error: unknown) => string;
  readonly warn: (message: string) => void;
}

interface Timing {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly obtainWithinMs: number;
}

/**
 * A credential is renewed this long before it expires. The metadata server returns the same token until four minutes
 * before its expiry, so an earlier renewal would bring nothing new.
 */
const renewAheadMs = 225_000;

/** The same for a short-lived credential, as a share of its lifetime: the shorter time applies. */
const renewAheadShare = 0.25;

/**
 * A credential this close to its expiry, in milliseconds or as a share of its lifetime, is only sent if no newer one
 * can be obtained: it must still be valid when it arrives.
 */
const travelMs = 10_000;
const travelShare = 0.1;

/** The timeout of one renewal, including the library's own retries: token services answer within a second. */
const obtainWithinMs = 10_000;

/** The pause after a failed renewal doubles each time, so that not every request calls a service that is down. */
const firstPauseMs = 1000;
const longestPauseMs = 30_000;

/** The minimum time between two renewals because of a refusal: the new credential may be refused too. */
const refusedPauseMs = 30_000;

/**
 * One credential for any number of requests. It is obtained for the first request that needs it. A request that comes
 * shortly before it expires starts its renewal, while the old one is still handed out. Only one renewal runs at a time,
 * however many requests wait for it.
 */
export class Renewed<A> {
  private readonly source: CredentialSource<A>;
  private readonly timing: Timing;
  private held: Held<A> | undefined;
  private renewal: Promise<Either<UpstreamFault, A>> | undefined;
  private pause: Pause | undefined;
  private refusedAt = Number.NEGATIVE_INFINITY;

  constructor(source: CredentialSource<A>, timing: Timing = { now: Date.now, obtainWithinMs }) {
    this.source = source;
    this.timing = timing;
  }

  /** The credential at once if a valid one is at hand, otherwise the outcome of a renewal, which never rejects. */
  current(): A | Promise<Either<UpstreamFault, A>> {
    const now = this.timing.now();
    const { held, pause } = this;
    if (held !== undefined && isWithin(held.since, now, held.renewAt)) return held.value;
    if (pause !== undefined && isWithin(pause.since, now, pause.until))
      return held !== undefined && now < held.endsAt ? held.value : Promise.resolve(E.left(pause.fault));
    const renewal = (this.renewal ??= this.renew());
    return held !== undefined && now < held.freshUntil ? held.value : renewal;
  }

  /**
   * The upstream refuses the credential although it has not expired: a service may forget its tokens when it restarts.
   * The next request waits for a new one.
   */
  refused(value: A): void {
    const now = this.timing.now();
    const { held, refusedAt } = this;
    if (held?.value !== value || isWithin(refusedAt, now, refusedAt + refusedPauseMs)) return;
    this.refusedAt = now;
    this.held = { ...held, renewAt: now, freshUntil: now };
  }

  private async renew(): Promise<Either<UpstreamFault, A>> {
    const obtained = await this.obtained();
    this.renewal = undefined;
    const now = this.timing.now();
    if (E.isRight(obtained)) {
      this.held = holding(obtained.right, now);
      this.pause = undefined;
      return E.right(obtained.right.value);
    }
    const { held } = this;
    this.pause = pauseAfter(obtained.left, this.pause, now);
    const left = held === undefined ? 0 : held.endsAt - now;
    this.source.warn(`${this.source.name} could not be renewed: ${obtained.left}${stillGoodFor(left)}`);
    return held !== undefined && left > 0 ? E.right(held.value) : E.left(this.pause.fault);
  }

  private async obtained(): Promise<Either<string, CredentialLease<A>>> {
    const signal = AbortSignal.timeout(this.timing.obtainWithinMs);
    const late = new Promise<Either<string, never>>((resolve) => {
      signal.addEventListener('abort', () => resolve(E.left('no answer came in time')), { once: true });
    });
    const { obtain, explain } = this.source;
    // Libraries of the platforms take no signal (rule 21.9).
    const answer = requestsUntil(signal, () => obtain(signal)).catch((error: unknown) =>
      E.left(explain(error)),
    );
    const first: Either<string, CredentialLease<A>> = await Promise.race([answer, late]);
    return pipe(
      first,
      E.chain((lease) =>
        lease.endsAt > this.timing.now()
          ? E.right(lease)
          : E.left('what was obtained has ended already, if the clocks are right'),
      ),
    );
  }
}

/** What a warning says of the credential that is left. */
function stillGoodFor(left: number): string {
  if (left === Number.POSITIVE_INFINITY) return '; the present one stays in use';
  return left > 0 ? `; the present one is good for ${Math.round(left / 1000)} s more` : '';
}

/** A start in the future means that the clock was set back since, and how much time is left is unknown. */
const isWithin = (since: number, now: number, until: number): boolean => since <= now && now < until;

/** A lease that is renewed from `renewAt` on. From `freshUntil` on, requests wait for the renewal. */
interface Held<A> extends CredentialLease<A> {
  readonly since: number;
  readonly renewAt: number;
  readonly freshUntil: number;
}

function holding<A>(lease: CredentialLease<A>, now: number): Held<A> {
  const { endsAt, renewAt = Number.POSITIVE_INFINITY } = lease;
  const left = endsAt - now;
  return {
    ...lease,
    since: now,
    renewAt: Math.min(renewAt, endsAt - Math.min(renewAheadMs, left * renewAheadShare)),
    freshUntil: endsAt - Math.min(travelMs, left * travelShare),
  };
}

/** The pause after a failed renewal, and the fault of requests that have no valid credential until it ends. */
interface Pause {
  readonly since: number;
  readonly until: number;
  readonly ms: number;
  readonly fault: UpstreamFault;
}

function pauseAfter(reason: string, before: Pause | undefined, now: number): Pause {
  const ms = before === undefined ? firstPauseMs : Math.min(before.ms * 2, longestPauseMs);
  return {
    since: now,
    until: now + ms,
    ms,
    fault: {
      kind: 'protocol',
      message: `The gateway could not obtain credentials for the upstream: ${reason}.`,
    },
  };
}
