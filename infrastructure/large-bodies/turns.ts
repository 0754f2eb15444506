/** Runs work one piece at a time: owners take turns, and the pieces of each owner keep their order. */
export function turns() {
  const lanes = new Map<string, (() => Promise<void>)[]>();
  let running = false;

  /** The owner that was just served goes to the end of the queue. */
  const next = (): (() => Promise<void>) | undefined => {
    for (const [owner, lane] of lanes) {
      const work = lane.shift();
      lanes.delete(owner);
      if (lane.length > 0) lanes.set(owner, lane);
      return work;
    }
    return undefined;
  };

  const run = async (): Promise<void> => {
    running = true;
    for (let work = next(); work !== undefined; work = next()) await work();
    running = false;
  };

  return {
    take: <A>(owner: string, work: () => Promise<A>): Promise<A> =>
      new Promise<A>((resolve, reject) => {
        const lane = lanes.get(owner) ?? [];
        lanes.set(owner, lane);
        lane.push(() => work().then(resolve, reject));
        if (!running) void run();
      }),
  };
}
