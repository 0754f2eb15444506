/** Work that waits for the database, all of which can be given up at once. */
export class LastCall {
  private readonly waiting = new Set<() => void>();
  private over = false;

  /** What `work` gives, or what is `instead` of it when the last call comes first. */
  async within<A>(work: Promise<A>, instead: () => A): Promise<A> {
    const { promise, resolve, reject } = Promise.withResolvers<A>();
    const giveUp = (): void => resolve(instead());
    this.waiting.add(giveUp);
    work.then(resolve, reject);
    if (this.over) giveUp();
    return promise.finally(() => this.waiting.delete(giveUp));
  }

  /** From now on nothing waits any longer. */
  come(): void {
    this.over = true;
    for (const giveUp of this.waiting) giveUp();
  }
}
