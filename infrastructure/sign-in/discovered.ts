/** Providers seldom change what they publish here: their keys are not part of it. */
const freshMs = 60 * 60_000;

/** How long the last value stays in use when it cannot be renewed. */
const usableMs = 24 * 60 * 60_000;

/** After a failure nobody asks again for this long, so that not every browser causes a request to a dead provider. */
const pauseMs = 1000;

interface Held<A> {
  readonly value: A;
  readonly since: number;
  readonly freshUntil: number;
}

/** A value that is discovered once for all callers, and again when it is no longer fresh. */
export class Discovered<A> {
  private readonly discover: () => Promise<A>;
  private readonly now: () => number;
  private held: Held<A> | undefined;
  private discovery: Promise<A> | undefined;
  private failure: { readonly error: unknown; readonly until: number } | undefined;

  /** `now` is for durations only, so the wall clock, which may be set back, is not read. */
  constructor(discover: () => Promise<A>, now = () => performance.now()) {
    this.discover = discover;
    this.now = now;
  }

  /** The value at once while it is fresh, else the newly discovered one, or the old one when discovery fails. */
  async current(): Promise<A> {
    const { held, failure } = this;
    const now = this.now();
    if (held !== undefined && now < held.freshUntil) return held.value;
    if (failure !== undefined && now < failure.until) return this.usable(now, failure.error);
    try {
      return await (this.discovery ??= this.renew());
    } catch (error) {
      return this.usable(this.now(), error);
    }
  }

  /** Marks the value as stale: the next caller discovers it again, and falls back to it when that fails. */
  doubt(): void {
    if (this.held !== undefined) this.held = { ...this.held, freshUntil: this.now() };
  }

  private usable(now: number, error: unknown): A {
    if (this.held !== undefined && now - this.held.since < usableMs) return this.held.value;
    throw error;
  }

  private async renew(): Promise<A> {
    try {
      const value = await this.discover();
      const since = this.now();
      this.held = { value, since, freshUntil: since + freshMs };
      this.failure = undefined;
      return value;
    } catch (error) {
      this.failure = { error, until: this.now() + pauseMs };
      throw error;
    } finally {
      this.discovery = undefined;
    }
  }
}
