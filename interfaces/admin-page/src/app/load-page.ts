import { unreachable } from '../api/client.ts';

/**
 * Loads the code of a page. The router reloads the document if the code is gone, as after an update of the gateway.
 * Without an answer from the gateway it must not, because the browser would show its own error instead (rule 52.14).
 */
export async function loaded<M>(load: () => Promise<M>): Promise<M> {
  try {
    return await load();
  } catch (error) {
    if (await answers()) throw error;
    throw unreachable('The gateway cannot be reached, so this page was not loaded.');
  }
}

const answers = (): Promise<boolean> =>
  fetch('/admin', { cache: 'no-store' }).then(
    ({ ok }) => ok,
    () => false,
  );
