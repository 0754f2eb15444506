import { useMutation } from '@tanstack/react-query';
import { api, read } from '../api/client.ts';

/**
 * Ends the session and leaves the page, with everything that it shows. The identity provider's own session is ended
 * there too, if it has an endpoint for that: otherwise the next sign-in would be as the same person, without a
 * question.
 */
export const useLogout = () =>
  useMutation({
    mutationFn: () => read(api.POST('/api/v1/auth/logout')),
    onSuccess: (ended) =>
      window.location.assign('end_session_url' in ended ? ended.end_session_url : '/admin'),
  });
