import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { ApiError } from './client.ts';

type Listener = () => void;
const listeners = new Set<Listener>();

/** Calls back when an answer says that there is no session any more that opens anything. Returns what ends that. */
export function onSessionLost(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const noticeLostSession = (error: Error): void => {
  if (error instanceof ApiError && (error.code === 'session_required' || error.code === 'enrolment_required'))
    for (const listener of listeners) listener();
};

/** What a change without an answer has done is seen in what is read anew. */
const readAnew = (error: Error): void => {
  if (error instanceof ApiError && error.status === 0) void queryClient.invalidateQueries();
};

/** A call is tried again once where no answer came; an answer, whatever it is, is an answer. */
const isWorthARetry = (failures: number, error: Error): boolean =>
  failures < 1 && error instanceof ApiError && (error.status === 0 || error.status === 503);

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
    // Without a network a change fails at once: it must not wait, and be made when nobody looks any more.
    mutations: { retry: false, networkMode: 'always' },
  },
});
