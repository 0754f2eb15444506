interface Place<A> {
  readonly value: A;
  /** `undefined` once it was removed. */
  at: number | undefined;
}

/**
 * A collection for values that are added and removed with each request, in no order. A `Set` retains removed values:
 * each time it rehashes, the old table keeps a link to the new one, and once an old table is in V8's old generation,
 * every later table and its contents stay alive until that generation is collected. This list changes in place.
 */
export class LiveList<A> {
  private readonly places: Place<A>[] = [];

  get size(): number {
    return this.places.length;
  }

  /** Adds a value and returns the function that removes it, which may be called more than once. */
  add(value: A): () => void {
    const place: Place<A> = { value, at: this.places.length };
    this.places.push(place);
    return () => this.leave(place);
  }

  /** A snapshot of the current values: the list may change while a caller iterates. */
  values(): readonly A[] {
    return this.places.map(({ value }) => value);
  }

  /** The last value moves into the slot of the removed one. */
  private leave(place: Place<A>): void {
    const { at } = place;
    const last = at === undefined ? undefined : this.places.pop();
    if (at === undefined || last === undefined) return;
    place.at = undefined;
    if (last === place) return;
    this.places[at] = last;
    last.at = at;
  }
}
