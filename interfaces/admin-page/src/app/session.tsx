import { useQuery, useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect, useRef, useState } from 'react';
import { ApiError, api, read } from '../api/client.ts';
import { onSessionLost } from '../api/query-client.ts';
import { Dialog } from '../ui/dialog.tsx';
import { ErrorLine, Failed, Waiting } from '../ui/states.tsx';
import { EnrolSecondFactor } from './enrol.tsx';
import { Login } from './login.tsx';
import { useLogout } from './logout.ts';
import { forgetRefusal } from './refused-sign-in.tsx';

/** The admin who is logged in. */
export interface Session {
  readonly userId: string;
  readonly email: string;
  readonly name: string;
  readonly expiresAt: string;
  /** False for a person who can sign in only at the identity provider. */
  readonly hasPassword: boolean;
  /** The longest life of an API token; `null` when it has no limit. */
  readonly tokenMaxSecs: number | null;
}

const SessionContext = createContext<Session | undefined>(undefined);

/** The session of the admin who is logged in. Every page behind `SessionGate` has one. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === undefined) throw new Error('there is no session here');
  return session;
}

/**
 * Shows the pages only to platform admins, and the login to everybody else. When a session is lost in the middle of
 * work, the page stays as it is, with what was typed, and the login opens over it. The session is asked for at each
 * return from another tab, where the person may have logged in; until one is known, the login also stays as it is.
 */
export function SessionGate({ children }: { readonly children: ReactNode }) {
  const client = useQueryClient();
  const [isLost, setLost] = useState(false);
  const [isEnrolled, setEnrolled] = useState(false);
  const session = useQuery({
    queryKey: ['session'],
    queryFn: ({ signal }) => read(api.GET('/api/v1/auth/session', { signal })),
    staleTime: Number.POSITIVE_INFINITY,
    // Somebody else may have logged in in another tab.
    refetchOnWindowFocus: 'always',
    retry: false,
    // Recovery codes are shown only once. While they are, no answer may replace them.
    enabled: !isEnrolled,
  });
  /** The last answer that there is no session: asking again forgets the error, which would remove the form. */
  const refusal = useRef<Error>(null);
  if (isRefusal(session.error)) refusal.current = session.error;
  useEffect(() => onSessionLost(() => setLost(true)), []);
  const again = (): void => {
    setLost(false);
    setEnrolled(false);
    void client.invalidateQueries();
  };
  useEffect(() => {
    if (session.data !== undefined) forgetRefusal();
    // A lost session that is found again: the person has logged in in another tab.
    if (isLost) again();
  }, [session.dataUpdatedAt]);
  const enrolment = <EnrolSecondFactor onEnrolled={() => setEnrolled(true)} onDone={again} />;
  if (session.data === undefined) {
    const error = refusal.current ?? session.error;
    if (error === null) return <Waiting for="the session" />;
    const failure = error === session.error ? null : session.error;
    return <Unknown error={error} failure={failure} enrolment={enrolment} again={again} />;
  }
  const found = session.data;
  if (found.role !== 'platform_admin') return <NotAnAdmin email={found.email} />;
  return (
    <SessionContext
      value={{
        userId: found.user_id,
        email: found.email,
        name: found.name,
        expiresAt: found.expires_at,
        hasPassword: found.has_password,
        tokenMaxSecs: found.token_max_secs,
      }}
    >
      {children}
      {isLost ? (
        <Dialog title="Your session has ended" onClose={undefined}>
          <p>What you typed is still here. Log in again to continue.</p>
          {mustEnrol(session.error) ? enrolment : <Login onDone={again} email={found.email} keepsPage />}
        </Dialog>
      ) : null}
    </SessionContext>
  );
}

const mustEnrol = (error: Error | null): boolean =>
  error instanceof ApiError && error.code === 'enrolment_required';

/** Answered by a form: the login or the enrolment. */
const isRefusal = (error: Error | null): boolean =>
  mustEnrol(error) || (error instanceof ApiError && error.status === 401);

/** Shown when no session is known. */
function Unknown({
  error,
  failure,
  enrolment,
  again,
}: {
  readonly error: Error;
  /** Why asking again failed. */
  readonly failure: Error | null;
  readonly enrolment: ReactNode;
  readonly again: () => void;
}) {
  if (mustEnrol(error))
    return (
      <LoginFrame title="A second factor is required">
        <ErrorLine error={failure} />
        {enrolment}
      </LoginFrame>
    );
  if (isRefusal(error))
    return (
      <LoginFrame title="Log in to Model Gateway">
        <ErrorLine error={failure} />
        <Login onDone={again} />
      </LoginFrame>
    );
  return (
    <LoginFrame title="Model Gateway">
      <Failed error={error} again={again} />
    </LoginFrame>
  );
}

function NotAnAdmin({ email }: { readonly email: string }) {
  const logout = useLogout();
  return (
    <LoginFrame title="You do not have access">
      <p>
        You are logged in as {email}, who is not a platform admin. Ask an admin for the role, or log in as
        somebody else.
      </p>
      <ErrorLine error={logout.error} />
      <button
        type="button"
        className="button primary"
        disabled={logout.isPending}
        onClick={() => logout.mutate()}
      >
        Log out
      </button>
    </LoginFrame>
  );
}

/** The frame of everything that is shown instead of the pages. */
function LoginFrame({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Model Gateway`;
  }, [title]);
  return (
    <main className="login-frame">
      <h1>{title}</h1>
      {children}
    </main>
  );
}
