import { MutationCache, notifyManager, QueryCache, QueryClient } from '@tanstack/react-query';
import { ApiError } from './client.ts';

type Listener = () => void;
const listeners = new Set<Listener>();

/** Calls back when an answer says that no usable session is left. Returns a function that removes the listener. */
export function onSessionLost(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const noticeLostSession = (error: Error): void => {
  if (error instanceof ApiError && (error.code === 'session_required' || error.code === 'enrolment_required'))
    for (const listener of listeners) listener();
};

/** A change without an answer may have been made. Everything is read again, so that the page shows it. */
const readAnew = (error: Error): void => {
  if (error instanceof ApiError && error.status === 0) void queryClient.invalidateQueries();
};

/** A query is retried once when no answer came, or a 503. Any other answer is final. */
const isWorthARetry = (failures: number, error: Error): boolean =>
  failures < 1 && error instanceof ApiError && (error.status === 0 || error.status === 503);

// The second click of a double click must find the act under way (rule 52.12): the library's timer may run after it.
notifyManager.setScheduler(queueMicrotask);

export const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: noticeLostSession }),
  mutationCache: new MutationCache({
    onError: (error) => {
      noticeLostSession(error);
      readAnew(error);
    },
  }),
  defaultOptions: {
    queries: {
      retry: isWorthARetry,
      retryDelay: 500,
      staleTime: 5_000,
      refetchOnWindowFocus: true,
      refetchOnReconnect: 'always',
      networkMode: 'always',
    },
    // Without a network a change fails at once. It must not wait and be made later, when nobody is looking.
    mutations: { retry: false, networkMode: 'always' },
  },
});
