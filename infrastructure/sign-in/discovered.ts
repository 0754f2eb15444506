/** What a provider publishes seldom changes; its keys are renewed by the library. */
const freshMs = 60 * 60_000;

/** Where it cannot be asked again, what it published is used on for this long. */
const usableMs = 24 * 60 * 60_000;

/** After a failure nobody asks again for this long: a dead provider is not asked by every browser. */
const pauseMs = 1000;

interface Held<A> {
  readonly value: A;
  readonly since: number;
  readonly freshUntil: number;
}

/** What is found out once for all who need it, and again when it has become old. */
export class Discovered<A> {
  private readonly discover: () => Promise<A>;
  private readonly now: () => number;
  private held: Held<A> | undefined;
  private discovery: Promise<A> | undefined;
  private failure: { readonly error: unknown; readonly until: number } | undefined;

  /** Lengths of time alone are asked of `now`, so the wall clock, which may be set back, is not read. */
  constructor(discover: () => Promise<A>, now = () => performance.now()) {
    this.discover = discover;
    this.now = now;
  }

  /** What is fresh at once, else what is found now; what is old where nothing can be found. */
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

  /** Nothing comes of it any more: whoever is next finds it out anew, and uses it on where nothing can be found. */
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
