import { LiveList } from '../../domain/shared/live-list.ts';

/** Work that waits for the database, all of which can be given up at once. */
export class LastCall {
  private readonly waiting = new LiveList<() => void>();
  private over = false;

  /** What `work` gives, or what is `instead` of it when the last call comes first. */
  async within<A>(work: Promise<A>, instead: () => A): Promise<A> {
    const { promise, resolve, reject } = Promise.withResolvers<A>();
    const giveUp = (): void => resolve(instead());
    const leave = this.waiting.add(giveUp);
    work.then(resolve, reject);
    if (this.over) giveUp();
    return promise.finally(leave);
  }

  /** From now on nothing waits any longer. */
  come(): void {
    this.over = true;
    for (const giveUp of this.waiting.values()) giveUp();
  }
}
