import { type ErrorComponentProps, useRouter } from '@tanstack/react-router';
import { ApiError } from '../api/client.ts';
import { Page as Frame } from '../ui/page.tsx';
import { Failed } from '../ui/states.tsx';

const broken = new Error('It cannot be shown. The gateway may have been updated: try again.');

/** Shown instead of a page that could not be loaded, or that failed. The navigation beside it stays. */
export function FailedPage({ error }: ErrorComponentProps) {
  const router = useRouter();
  return (
    <Frame title="Page not loaded">
      {error instanceof ApiError ? (
        <Failed error={error} again={() => void router.invalidate()} />
      ) : (
        <Failed error={broken} again={() => window.location.reload()} />
      )}
    </Frame>
  );
}
