/** Where a login comes from: an address, and the network that contains it. */
export interface Origin {
  readonly address: string;
  readonly network: string;
}

/** How many networks and addresses have their last turn remembered: more than wait at once. */
const remembered = 1024;

/** Keeps the order of last turns. */
function lastTurns() {
  const turns = new Set<string>();
  return {
    had: (key: string): void => {
      turns.delete(key);
      turns.add(key);
      const [oldest] = turns;
      if (turns.size > remembered && oldest !== undefined) turns.delete(oldest);
    },
    /** Of those waiting, the one that had no turn yet, or else the one whose last turn is longest ago. */
    nextOf: (waiting: ReadonlyMap<string, unknown>): string | undefined => {
      for (const key of waiting.keys()) if (!turns.has(key)) return key;
      for (const key of turns) if (waiting.has(key)) return key;
      return undefined;
    },
  };
}

type Begin = () => void;

/** The waiting logins, by network and address, each in order of arrival. */
function waitingLine() {
  const networks = new Map<string, Map<string, Set<Begin>>>();
  const remove = ({ network, address }: Origin, begin: Begin): void => {
    const addresses = networks.get(network);
    const there = addresses?.get(address);
    there?.delete(begin);
    if (there?.size === 0) addresses?.delete(address);
    if (addresses?.size === 0) networks.delete(network);
  };
  const networkTurns = lastTurns();
  const addressTurns = lastTurns();
  const had = ({ network, address }: Origin): void => {
    networkTurns.had(network);
    addressTurns.had(address);
  };
  return {
    add: ({ network, address }: Origin, begin: Begin): void => {
      const addresses = networks.get(network) ?? new Map<string, Set<Begin>>();
      networks.set(network, addresses.set(address, (addresses.get(address) ?? new Set()).add(begin)));
    },
    remove,
    had,
    /** Takes out the one whose turn it is. */
    next: (): Begin | undefined => {
      const network = networkTurns.nextOf(networks) ?? '';
      const addresses = networks.get(network) ?? new Map<string, Set<Begin>>();
      const address = addressTurns.nextOf(addresses) ?? '';
      const [begin] = addresses.get(address) ?? [];
      if (begin === undefined) return undefined;
      remove({ network, address }, begin);
      had({ network, address });
      return begin;
    },
  };
}

/**
 * Runs a bounded number at once, round robin by network, and by address within a network. The network whose last turn
 * is longest ago goes first, so that infrequent callers go ahead of frequent ones. `undefined` when the caller gave up
 * waiting.
 */
export function fairTurns(atOnce: number) {
  const line = waitingLine();
  let running = 0;

  const turn = (origin: Origin, givenUp: AbortSignal): Promise<boolean> =>
    new Promise((resolve) => {
      const leave = (): void => {
        line.remove(origin, begin);
        resolve(false);
      };
      const begin = (): void => {
        givenUp.removeEventListener('abort', leave);
        resolve(true);
      };
      givenUp.addEventListener('abort', leave);
      line.add(origin, begin);
    });

  return {
    idle: (): boolean => running === 0,
    run: async <A>(origin: Origin, givenUp: AbortSignal, work: () => Promise<A>): Promise<A | undefined> => {
      if (givenUp.aborted) return undefined;
      if (running < atOnce) {
        running += 1;
        line.had(origin);
      } else if (!(await turn(origin, givenUp))) return undefined;
      try {
        return await work();
      } finally {
        const next = line.next();
        if (next === undefined) running -= 1;
        else next();
      }
    },
  };
}
