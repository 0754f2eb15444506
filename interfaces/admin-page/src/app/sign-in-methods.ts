import { useQuery } from '@tanstack/react-query';
import { api, read } from '../api/client.ts';

/** The available ways to sign in. */
export const useSignInMethods = () =>
  useQuery({
    queryKey: ['sign-in-methods'],
    queryFn: ({ signal }) => read(api.GET('/api/v1/auth/methods', { signal })),
  });
