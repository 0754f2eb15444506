import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useSession } from '../app/session.tsx';
import { Pair } from '../ui/pair.tsx';
import { Page as Frame } from '../ui/page.tsx';
import { Time } from '../ui/values.tsx';
import { useSignInMethods } from '../app/sign-in-methods.ts';
import { ChangePassword } from './account/password.tsx';
import { SecondFactor } from './account/second-factor.tsx';
import { Tokens } from './account/tokens.tsx';

/** Who is logged in, how they authenticate, and the tokens that act in the names of admins. */
export function Page() {
  const { userId, email, name, expiresAt, hasPassword } = useSession();
  const methods = useSignInMethods();
  const client = useQueryClient();
  // Each call extends the session, so the end known since the login is outdated.
  useEffect(() => void client.invalidateQueries({ queryKey: ['session'] }), [client]);
  return (
    <Frame title="Your account" facts="How you log in, and the API tokens that act in your name.">
      <dl className="pairs">
        <Pair name="Logged in as">
          <Link to="/people" search={{ open: userId }}>
            {name}
          </Link>
        </Pair>
        <Pair name="E-mail">{email}</Pair>
        <Pair name="Without a call, logged in until (UTC)">
          <Time at={expiresAt} />
        </Pair>
      </dl>
      {methods.data?.password === false ? (
        <p className="muted">
          Password login is turned off: the identity provider manages your password and second factor.
        </p>
      ) : hasPassword ? (
        <>
          <SecondFactor />
          <ChangePassword />
        </>
      ) : (
        <p className="muted">
          You have no password here: the identity provider manages your password and second factor.
        </p>
      )}
      <Tokens />
    </Frame>
  );
}
