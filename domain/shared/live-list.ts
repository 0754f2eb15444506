interface Place<A> {
  readonly value: A;
  /** Undefined: it has left. */
  at: number | undefined;
}

/**
 * What comes and goes with each request, in no order. A `Set` would keep what has left it: whenever it makes room it
 * leaves a table behind that leads to the next one, and once such a table is in V8's old generation, all later ones
 * stay with everything that was in them, until that generation is collected. This list changes in place.
 */
export class LiveList<A> {
  private readonly places: Place<A>[] = [];

  get size(): number {
    return this.places.length;
  }

  /** Returns how the value leaves; it may be told to more than once. */
  add(value: A): () => void {
    const place: Place<A> = { value, at: this.places.length };
    this.places.push(place);
    return () => this.leave(place);
  }

  /** Those that are there now: the list may change while they are looked at. */
  values(): readonly A[] {
    return this.places.map(({ value }) => value);
  }

  /** The last one takes the place of the one that leaves. */
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
