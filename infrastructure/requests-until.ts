import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import type { ClientRequest } from 'node:http';

const deadline = new AsyncLocalStorage<AbortSignal>();

subscribe('http.client.request.created', (message) => {
  const signal = deadline.getStore();
  if (signal === undefined) return;
  const { request } = message as { readonly request: ClientRequest };
  const end = (): void => void request.destroy();
  if (signal.aborted) return end();
  signal.addEventListener('abort', end, { once: true });
  request.once('close', () => signal.removeEventListener('abort', end));
});

/**
 * Runs work of a library that takes no signal. The HTTP requests that it makes end when the signal aborts, and so do
 * those that it makes later: otherwise each attempt on a service that hangs would leave a connection open.
 */
export const requestsUntil = <A>(signal: AbortSignal, work: () => A): A => deadline.run(signal, work);
