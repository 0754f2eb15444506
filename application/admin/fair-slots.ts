/**
 * A bounded number of waiting places. A newcomer always gets one: when all are taken, the longest waiting of the
 * network that has the most is evicted. So no number of slow callers keeps a quick one out.
 */
export function fairSlots(places: number) {
  const networks = new Map<string, Set<() => void>>();
  let taken = 0;

  const leave = (network: string, waiting: () => void): void => {
    const there = networks.get(network);
    if (there?.delete(waiting) !== true) return;
    taken -= 1;
    if (there.size === 0) networks.delete(network);
  };

  const makeRoom = (): void => {
    let [largest, most] = ['', new Set<() => void>()];
    for (const [network, there] of networks) if (there.size > most.size) [largest, most] = [network, there];
    const [longest] = most;
    if (longest === undefined) return;
    leave(largest, longest);
    longest();
  };

  return {
    taken: (): number => taken,
    /** Takes a place until the returned function is called, or until this one is evicted. */
    enter: (network: string, sentAway: () => void): (() => void) => {
      if (taken >= places) makeRoom();
      const waiting = (): void => sentAway();
      const there = networks.get(network) ?? new Set();
      networks.set(network, there.add(waiting));
      taken += 1;
      return () => leave(network, waiting);
    },
  };
}
