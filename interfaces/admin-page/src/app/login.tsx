import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ApiError, api, read } from '../api/client.ts';
import { TextField } from '../ui/fields.tsx';
import { ErrorLine } from '../ui/states.tsx';

/** Where the browser comes back to from the identity provider: the page that was asked for. */
const here = (): string => window.location.pathname + window.location.search;

/** By password, with the second factor where one is enrolled, and at the identity provider. */
export function Login({
  onDone,
  email: known = '',
}: {
  readonly onDone: () => void;
  readonly email?: string;
}) {
  const [email, setEmail] = useState(known);
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const methods = useQuery({
    queryKey: ['sign-in-methods'],
    queryFn: ({ signal }) => read(api.GET('/api/v1/auth/methods', { signal })),
  });
  const login = useMutation({
    mutationFn: () =>
      read(api.POST('/api/v1/auth/login', { body: { email, password, ...(code === '' ? {} : { code }) } })),
    onSuccess: onDone,
  });
  const wantsCode =
    code !== '' || (login.error instanceof ApiError && login.error.code === 'second_factor_required');
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    login.mutate();
  };
  return (
    <div className="stack">
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
              hint="Six digits of your authenticator app, or a recovery code."
              autoComplete="one-time-code"
              value={code}
              onChange={setCode}
              autoFocus
            />
          ) : null}
          {wantsCode && code === '' ? null : <ErrorLine error={login.error} />}
          <button type="submit" className="button primary" disabled={login.isPending}>
            {login.isPending ? 'Logging in…' : 'Log in'}
          </button>
        </form>
      )}
      {methods.data?.oidc == null ? null : (
        <a className="button" href={`${methods.data.oidc.start_url}?return_to=${encodeURIComponent(here())}`}>
          Log in with {methods.data.oidc.display_name}
        </a>
      )}
    </div>
  );
}
