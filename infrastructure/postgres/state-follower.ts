import * as t from 'io-ts';
import { type CommonQueryMethods, type DatabasePool, sql } from 'slonik';
import { int8 } from './codecs.ts';
import { row } from './pool.ts';

/** How often the revision is checked: together with the time of a reload, changes are everywhere within 5 seconds. */
const pollMs = 1000;
/** State read longer ago than this is not used, because it may lack a revocation. */
const staleAfterMs = 4000;

/** When the state was last known to be current. State in memory is trusted only for a limited time after that. */
export class Freshness {
  private confirmedAt = Number.NEGATIVE_INFINITY;

  confirm(at: number): void {
    this.confirmedAt = at;
  }

  /** True while the state in memory is known to be current. */
  isFresh(): boolean {
    return performance.now() - this.confirmedAt <= staleAfterMs;
  }
}

/**
 * Increments the state's revision, at the end of each transaction that changes identity or catalogue. Every replica
 * checks the revision once a second, and learns of a change in no other way.
 */
export const touchState = async (connection: CommonQueryMethods): Promise<void> => {
  await connection.query(sql.unsafe`select gateway_touch()`);
};

export interface StateFollowerOptions {
  readonly freshness: Freshness;
  /** Called with each new revision. If it throws, it is called again at the next poll. */
  readonly onChange: () => Promise<void>;
  readonly onFault: (error: unknown) => void;
  /** Called each time that the state is known to be current. */
  readonly onFollowed: () => void;
}

/** Follows the database's revision, so that every replica sees every change of identity or catalogue. */
export class StateFollower {
  private readonly pool: DatabasePool;
  private readonly options: StateFollowerOptions;
  private revision: bigint | undefined;
  private timer: NodeJS.Timeout | undefined;
  private polling: Promise<void> | undefined;
  private stopped = false;

  constructor(pool: DatabasePool, options: StateFollowerOptions) {
    this.pool = pool;
    this.options = options;
  }

  /** Loads the current state, then follows it. Rejects if the initial state cannot be loaded. */
  async start(): Promise<void> {
    await this.take();
    this.schedule();
  }

  /** Reloads everything now, including changes that are only in this process's file. */
  async refresh(): Promise<void> {
    await this.polling;
    this.revision = undefined;
    await this.take();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.polling;
  }

  private schedule(): void {
    if (this.stopped) return;
    this.timer = setTimeout(() => {
      this.polling = this.take()
        .catch(this.options.onFault)
        .finally(() => this.schedule());
    }, pollMs).unref();
  }

  private async take(): Promise<void> {
    const askedAt = performance.now();
    const { revision } = await this.pool.one(
      sql.type(row(t.type({ revision: int8 })))`select revision from gateway_state`,
    );
    if (revision !== this.revision) {
      await this.options.onChange();
      this.revision = revision;
    }
    this.options.freshness.confirm(askedAt);
    this.options.onFollowed();
  }
}
