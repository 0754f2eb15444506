import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { UpstreamFault } from '../../../domain/upstream/upstream-fault.ts';

/** A credential, and when it ends (milliseconds since the epoch; infinity: never). */
export interface CredentialLease<A> {
  readonly value: A;
  readonly endsAt: number;
}

/** Where a credential comes from. */
export interface CredentialSource<A> {
  /** What it is, for the operator: `the access token`. */
  readonly name: string;
  /** Left is a clause in words fit for callers, without a secret. The signal says that nobody waits any more. */
  readonly obtain: (signal: AbortSignal) => Promise<Either<string, CredentialLease<A>>>;
  /** The same clause for what `obtain` rejects with: libraries throw what they did not get. */
  readonly explain: (error: unknown) => string;
  readonly warn: (message: string) => void;
}

interface Timing {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly obtainWithinMs: number;
}

/**
 * A credential is renewed this long before it ends. The metadata server hands the same token out until four minutes
 * before its end: asking earlier would bring nothing new.
 */
const renewAheadMs = 225_000;

/** Of a short life, at most this part is left when renewal begins. */
const renewAheadShare = 0.25;

/** What is about to end is only sent where nothing newer can be had: it must still be good when it arrives. */
const travelMs = 10_000;
const travelShare = 0.1;

/** One renewal, the library's own retries counted in: token services answer within a second. */
const obtainWithinMs = 10_000;

/** After a failure the next attempt waits, twice as long each time: a dead service is not asked by every request. */
const firstPauseMs = 1000;
const longestPauseMs = 30_000;

/** Between two renewals of what was refused: a new one may be refused, too. */
const refusedPauseMs = 30_000;

/**
 * One credential for any number of requests. It is obtained when the first one asks, and renewed ahead of its end by
 * whoever asks then, while the old one is still handed out. However many wait, one renewal is under way.
 */
export class Renewed<A> {
  private readonly source: CredentialSource<A>;
  private readonly timing: Timing;
  private held: Held<A> | undefined;
  private renewal: Promise<Either<UpstreamFault, A>> | undefined;
  private pause: Pause | undefined;
  private refusedAgainFrom = 0;

  constructor(source: CredentialSource<A>, timing: Timing = { now: Date.now, obtainWithinMs }) {
    this.source = source;
    this.timing = timing;
  }

  /** The credential at once where there is a good one, else when it has been obtained; never rejects. */
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
   * The other side does not take it, though it has not ended: a service that starts again may know its tokens no more.
   * Whoever asks next waits for a new one.
   */
  refused(value: A): void {
    const now = this.timing.now();
    const { held } = this;
    if (held?.value !== value || now < this.refusedAgainFrom) return;
    this.refusedAgainFrom = now + refusedPauseMs;
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
    const still = left > 0 ? `; the present one is good for ${Math.round(left / 1000)} s more` : '';
    this.source.warn(`${this.source.name} could not be renewed: ${obtained.left}${still}`);
    return held !== undefined && left > 0 ? E.right(held.value) : E.left(this.pause.fault);
  }

  private async obtained(): Promise<Either<string, CredentialLease<A>>> {
    const signal = AbortSignal.timeout(this.timing.obtainWithinMs);
    const late = new Promise<Either<string, never>>((resolve) => {
      signal.addEventListener('abort', () => resolve(E.left('no answer came in time')), { once: true });
    });
    const { obtain, explain } = this.source;
    const answer = obtain(signal).catch((error: unknown) => E.left(explain(error)));
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

/** What began later than now began before the clock was set back: nobody knows how much of its time is left. */
const isWithin = (since: number, now: number, until: number): boolean => since <= now && now < until;

/** A lease, and what is done when: renewed from `renewAt` on, waited for from `freshUntil` on. */
interface Held<A> extends CredentialLease<A> {
  readonly since: number;
  readonly renewAt: number;
  readonly freshUntil: number;
}

function holding<A>(lease: CredentialLease<A>, now: number): Held<A> {
  const { endsAt } = lease;
  const left = endsAt - now;
  return {
    ...lease,
    since: now,
    renewAt: endsAt - Math.min(renewAheadMs, left * renewAheadShare),
    freshUntil: endsAt - Math.min(travelMs, left * travelShare),
  };
}

/** Until when nothing is asked for, and the fault that requests get until then. */
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
