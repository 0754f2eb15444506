import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ApiError } from '../api/client.ts';
import { Failed, StaleNotice, Waiting } from './states.tsx';

/** Data in any state of loading. When loading it again failed, the error is shown above it. */
export function Loaded<D>({
  query,
  what,
  gone,
  children,
}: {
  readonly query: UseQueryResult<D>;
  /** What is being loaded, such as `the key`. */
  readonly what: string;
  /** Shown when the object does not exist (404). */
  readonly gone?: ReactNode;
  readonly children: (data: D) => ReactNode;
}) {
  const { data, error, isPlaceholderData: isStale } = query;
  if (gone !== undefined && data === undefined && error instanceof ApiError && error.status === 404)
    return gone;
  return (
    <>
      {error === null ? null : <Failed error={error} again={() => void query.refetch()} />}
      {isStale ? <StaleNotice what={what} /> : null}
      {data !== undefined ? (
        <div className={isStale ? 'loaded stale' : 'loaded'}>{children(data)}</div>
      ) : error === null ? (
        <Waiting for={what} />
      ) : null}
    </>
  );
}
