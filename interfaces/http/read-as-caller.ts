/**
 * How long a caller that was authenticated before its body was read counts as authenticated. With the time in which
 * changes reach the accounts in memory, it stays below the five seconds of rule 33.5.
 */
const promptBodyMs = 500;

/**
 * Reads a body, and says who its caller is by then. A body may take minutes to arrive, and meanwhile the key may be
 * revoked, or its rights changed. Behind a prompt body nobody is looked up a second time.
 */
export async function readAsCaller<Body, Caller>(
  read: () => Promise<Body>,
  known: Caller,
  lookUpAgain: () => Promise<Caller>,
): Promise<readonly [Body, Caller]> {
  const since = performance.now();
  const body = await read();
  return [body, performance.now() - since < promptBodyMs ? known : await lookUpAgain()];
}
