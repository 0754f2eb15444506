import { type ReactNode, useEffect, useState } from 'react';
import { ApiError } from '../api/client.ts';
import { Icon } from './icons.tsx';

/** Nothing for the first 200 ms, then a line that says what is being loaded. */
export function Waiting({ for: what }: { readonly for: string }) {
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), 200);
    return () => clearTimeout(timer);
  }, []);
  return (
    <p className="waiting" role="status">
      {isSlow ? `Waiting for ${what}…` : ''}
    </p>
  );
}

/** Shown beside earlier data while the current query loads. */
export const StaleNotice = ({ what }: { readonly what: string }) => (
  <Waiting for={`${what}; showing earlier data`} />
);

/** What failed, whether anything was changed, and how to ask for help. */
export function Failed({
  error,
  again,
}: {
  readonly error: Error;
  readonly again?: (() => void) | undefined;
}) {
  return (
    <div className="failed" role="alert">
      <ErrorText error={error} />
      {again === undefined ? null : (
        <button type="button" className="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

/** The error of a form, if there is one. */
export const ErrorLine = ({ error }: { readonly error: Error | null }) =>
  error === null ? null : (
    <div role="alert">
      <ErrorText error={error} />
    </div>
  );

/** The API's message about a lost session is for scripts, and the page has asked for the login by itself. */
const lostSession = 'Your session had ended, and nothing was changed. Log in and do it again.';

function ErrorText({ error }: { readonly error: Error }) {
  const { requestId, param, code } =
    error instanceof ApiError ? error : { requestId: undefined, param: undefined, code: undefined };
  return (
    <p className="error-text">
      <Icon name="error" /> {code === 'session_required' ? lostSession : error.message}
      {param === undefined ? null : <> Field: {param}.</>}
      {requestId === undefined ? null : <span className="muted"> Request id {requestId}</span>}
    </p>
  );
}

/** Shown in an empty place: what would fill it, and how. */
export const Empty = ({ title, children }: { readonly title: string; readonly children?: ReactNode }) => (
  <div className="empty">
    <p className="empty-title">{title}</p>
    {children}
  </div>
);
