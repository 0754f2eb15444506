import { useMutation } from '@tanstack/react-query';
import { api, read } from '../api/client.ts';

/**
 * Ends the session, and leaves the page with all that it shows. The identity provider's own session ends there, where
 * it has a place for that: otherwise the next sign-in would be the same person's, without a question.
 */
export const useLogout = () =>
  useMutation({
    mutationFn: () => read(api.POST('/api/v1/auth/logout')),
    onSuccess: (ended) =>
      window.location.assign('end_session_url' in ended ? ended.end_session_url : '/admin'),
  });
