/** Logins under way in a process: people log in seldom, and each waits for a hash or a delay. */
const maxLogins = 64;

/** Of one address: it may not keep all the others out. */
const maxLoginsOfAddress = 16;

/**
 * Where logins wait. Those for one account from one address go one after the other, so that each knows how the one
 * before it ended; undefined when there are too many.
 */
export function loginLine(): <A>(
  account: string,
  address: string,
  work: () => Promise<A>,
) => Promise<A | undefined> {
  const ofAddress = new Map<string, number>();
  const lines = new Map<string, Promise<unknown>>();
  let underWay = 0;

  return async (account, address, work) => {
    const here = ofAddress.get(address) ?? 0;
    if (underWay >= maxLogins || here >= maxLoginsOfAddress) return undefined;
    underWay += 1;
    ofAddress.set(address, here + 1);
    const line = `${address} ${account}`;
    const turn = (lines.get(line) ?? Promise.resolve()).then(work);
    // However it ends, the next one goes on; a failure is told to whoever waits for this one.
    const settled = turn.catch(() => undefined);
    lines.set(line, settled);
    try {
      return await turn;
    } finally {
      underWay -= 1;
      const left = (ofAddress.get(address) ?? 1) - 1;
      if (left === 0) ofAddress.delete(address);
      else ofAddress.set(address, left);
      if (lines.get(line) === settled) lines.delete(line);
    }
  };
}
