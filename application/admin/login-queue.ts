import { fairSlots } from './fair-slots.ts';
import { fairTurns, type Origin } from './fair-turns.ts';

/** The most logins under way in a process: each takes a connection and a few kilobytes. */
const maxLogins = 1024;

/** The most logins of one address: more than anybody needs who is not guessing. */
const maxLoginsOfAddress = 16;

/**
 * The most hashes that are computed at once, and the most attempts that are counted at once, with a connection each.
 */
const turnsAtOnce = 2;

/** A login that waits in line. */
export interface QueuedLogin extends Origin {
  readonly account: string;
  /** Calls back when nobody waits for the login any more. */
  readonly whenGone: (callback: () => void) => void;
}

/** The two steps that logins take turns at; a login occupies no turn while it waits for anything else. */
export interface LoginTurns {
  readonly counting: <A>(work: () => Promise<A>) => Promise<A | undefined>;
  readonly hashing: <A>(work: () => Promise<A>) => Promise<A | undefined>;
}

/** The steps of a login in the line; `undefined` when it was denied a turn. */
type Steps<A> = (turns: LoginTurns) => Promise<A | undefined>;

/**
 * The line in which logins wait. Logins to one account from one address run one after the other, so that each sees the
 * outcome of the previous one; all others take turns by network. `undefined` for a login that there is no room for.
 */
export function loginQueue(): <A>(login: QueuedLogin, steps: Steps<A>) => Promise<A | undefined> {
  const room = fairSlots(maxLogins);
  const counting = fairTurns(turnsAtOnce);
  const hashing = fairTurns(turnsAtOnce);
  const lines = new Map<string, ReturnType<typeof fairTurns>>();
  const ofAddress = new Map<string, number>();

  const inLine = async <A>(
    login: QueuedLogin,
    givenUp: AbortSignal,
    steps: Steps<A>,
  ): Promise<A | undefined> => {
    const name = `${login.address} ${login.account}`;
    const line = lines.get(name) ?? fairTurns(1);
    lines.set(name, line);
    try {
      return await line.run(login, givenUp, () =>
        steps({
          counting: (work) => counting.run(login, givenUp, work),
          hashing: (work) => hashing.run(login, givenUp, work),
        }),
      );
    } finally {
      if (line.idle()) lines.delete(name);
    }
  };

  return async (login, steps) => {
    const { address, network } = login;
    const here = ofAddress.get(address) ?? 0;
    if (here >= maxLoginsOfAddress) return undefined;
    ofAddress.set(address, here + 1);
    const giving = new AbortController();
    const leave = room.enter(network, () => giving.abort());
    login.whenGone(() => giving.abort());
    try {
      return await inLine(login, giving.signal, steps);
    } finally {
      leave();
      const left = (ofAddress.get(address) ?? 1) - 1;
      if (left === 0) ofAddress.delete(address);
      else ofAddress.set(address, left);
    }
  };
}
