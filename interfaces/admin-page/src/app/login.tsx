import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useEffect, useState } from 'react';
import { ApiError, api, read } from '../api/client.ts';
import { ActButton } from '../ui/act-button.tsx';
import { TextField } from '../ui/fields.tsx';
import { ErrorLine } from '../ui/states.tsx';
import { here, keepRequestedPage, RefusedSignIn } from './refused-sign-in.tsx';
import { useSignInMethods } from './sign-in-methods.ts';

/** Login by password, with the second factor if one is enrolled, or through the identity provider. */
export function Login({
  onDone,
  email: known = '',
  keepsPage = false,
}: {
  readonly onDone: () => void;
  readonly email?: string;
  /** The page behind it has unsaved work, so the identity provider opens in a tab of its own. */
  readonly keepsPage?: boolean;
}) {
  const [email, setEmail] = useState(known);
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const [wantsCode, setWantsCode] = useState(false);
  const methods = useSignInMethods();
  const login = useMutation({
    mutationFn: () =>
      read(api.POST('/api/v1/auth/login', { body: { email, password, ...(code === '' ? {} : { code }) } })),
    onSuccess: onDone,
    onError: (error) => {
      if (isAskedForCode(error)) setWantsCode(true);
      else setCode('');
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    login.mutate();
  };
  return (
    <div className="stack">
      <RefusedSignIn />
      {methods.data?.password === false ? null : (
        <form className="stack" onSubmit={submit}>
          <TextField
            label="E-mail"
            type="email"
            autoComplete="username"
            value={email}
            onChange={setEmail}
            required
          />
          <TextField
            label="Password"
            type="password"
            autoComplete="current-password"
            value={password}
            onChange={setPassword}
            required
          />
          {wantsCode ? (
            <TextField
              label="Code"
              hint="Six digits from your authenticator app, or a recovery code."
              autoComplete="one-time-code"
              value={code}
              onChange={setCode}
              autoFocus
            />
          ) : null}
          <ErrorLine error={isAskedForCode(login.error) ? null : login.error} />
          <ActButton type="submit" look="button primary" isPending={login.isPending}>
            {login.isPending ? 'Logging in…' : 'Log in'}
          </ActButton>
        </form>
      )}
      {methods.data?.oidc == null ? null : (
        <ProviderLink
          name={methods.data.oidc.display_name}
          startUrl={methods.data.oidc.start_url}
          keepsPage={keepsPage}
          onDone={onDone}
        />
      )}
      <ErrorLine error={methods.error} />
    </div>
  );
}

/** The field itself asks for the code, so a missing code is not shown as an error. */
const isAskedForCode = (error: Error | null): boolean =>
  error instanceof ApiError && error.code === 'second_factor_required';

/** Links to the identity provider, which lead back to the requested page. Its session may be another person's. */
function ProviderLink({
  name,
  startUrl,
  keepsPage,
  onDone,
}: {
  readonly name: string;
  readonly startUrl: string;
  readonly keepsPage: boolean;
  readonly onDone: () => void;
}) {
  useEffect(() => {
    if (!keepsPage) return undefined;
    const look = async (): Promise<void> => {
      const { response } = await api.GET('/api/v1/auth/session');
      if (response.ok) onDone();
    };
    // A person who returns from the other tab may not have logged in there yet. If the call fails, the next return
    // tries again.
    const onFocus = (): void => void look().catch(() => undefined);
    window.addEventListener('focus', onFocus);
    return () => window.removeEventListener('focus', onFocus);
  }, [keepsPage, onDone]);
  const href = `${startUrl}?return_to=${encodeURIComponent(keepsPage ? '/admin/account' : here())}`;
  const way = keepsPage ? { target: '_blank', rel: 'noreferrer' } : { onClick: keepRequestedPage };
  return (
    <>
      <a className="button" href={href} {...way}>
        Log in with {name}
        {keepsPage ? ' (new tab)' : ''}
      </a>
      <a href={`${href}&prompt=select_account`} {...way}>
        Use another account of {name}
        {keepsPage ? ' (new tab)' : ''}
      </a>
      {keepsPage ? <p className="muted">Come back to this tab after you have logged in there.</p> : null}
    </>
  );
}
