/** Where a login comes from: an address, and the network that it is one of many in. */
export interface Origin {
  readonly address: string;
  readonly network: string;
}

/** Networks and addresses whose last turn is remembered: more than wait at once. */
const remembered = 1024;

/** In which order they had their last turns. */
function lastTurns() {
  const turns = new Set<string>();
  return {
    had: (key: string): void => {
      turns.delete(key);
      turns.add(key);
      const [oldest] = turns;
      if (turns.size > remembered && oldest !== undefined) turns.delete(oldest);
    },
    /** Of those who wait the one who had no turn yet, else the one whose last turn is longest ago. */
    nextOf: (waiting: ReadonlyMap<string, unknown>): string | undefined => {
      for (const key of waiting.keys()) if (!turns.has(key)) return key;
      for (const key of turns) if (waiting.has(key)) return key;
      return undefined;
    },
  };
}

type Begin = () => void;

/** Those who wait, by network and address, each in the order in which they came. */
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
    /** Takes out whose turn it is. */
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
 * Lets a bounded number run at once, round robin by network, and by address within one: the network whose last turn is
 * longest ago goes first, so that who comes seldom is before all who come often. Undefined for who gave up waiting.
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
