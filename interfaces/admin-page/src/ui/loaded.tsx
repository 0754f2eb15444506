import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ApiError } from '../api/client.ts';
import { Failed, StaleSign, Waiting } from './states.tsx';

/** What was read, however far its reading is; when reading it again failed, the error stands above it. */
export function Loaded<D>({
  query,
  what,
  gone,
  children,
}: {
  readonly query: UseQueryResult<D>;
  /** What is waited for, such as `the key`. */
  readonly what: string;
  /** What stands there when there is no such thing (404). */
  readonly gone?: ReactNode;
  readonly children: (data: D) => ReactNode;
}) {
  const { data, error, isPlaceholderData: isStale } = query;
  if (gone !== undefined && data === undefined && error instanceof ApiError && error.status === 404)
    return gone;
  return (
    <>
      {error === null ? null : <Failed error={error} again={() => void query.refetch()} />}
      {isStale ? <StaleSign what={what} /> : null}
      {data !== undefined ? (
        <div className={isStale ? 'loaded stale' : 'loaded'}>{children(data)}</div>
      ) : error === null ? (
        <Waiting for={what} />
      ) : null}
    </>
  );
}
