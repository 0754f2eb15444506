import { useMutation } from '@tanstack/react-query';
import { type FormEvent, Suspense, useState } from 'react';
import { api, read } from '../api/client.ts';
import { ActButton } from '../ui/act-button.tsx';
import { lazyPart } from '../ui/lazy-part.ts';
import { Copyable } from '../ui/values.tsx';
import { TextField } from '../ui/fields.tsx';
import { ErrorLine } from '../ui/states.tsx';

const NoQrCode = () => <p className="muted">The QR code could not be loaded: enter the secret instead.</p>;

/** Loaded only for an enrolment. */
const QrCode = lazyPart(async () => (await import('./qr-code.tsx')).QrCode, NoQrCode);

/** A second factor in three steps: the password, the app, the recovery codes. */
export function EnrolSecondFactor({
  onEnrolled,
  onDone,
}: {
  /** Called when it is on and its recovery codes are shown. */
  readonly onEnrolled: () => void;
  /** Called when the person has saved the recovery codes. */
  readonly onDone: () => void;
}) {
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const begin = useMutation({
    mutationFn: () => read(api.POST('/api/v1/auth/second-factor', { body: { password } })),
  });
  const confirm = useMutation({
    mutationFn: () => read(api.POST('/api/v1/auth/second-factor/confirm', { body: { password, code } })),
    onSuccess: onEnrolled,
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (begin.data === undefined) begin.mutate();
    else confirm.mutate();
  };
  if (confirm.data !== undefined)
    return (
      <div className="stack">
        <p>
          Keep these recovery codes somewhere other than on your phone. Each works for one login; they are not
          shown again.
        </p>
        <Copyable text={confirm.data.recovery_codes.join('\n')} label="Recovery codes" block />
        <button type="button" className="button primary" onClick={onDone}>
          I have saved them
        </button>
      </div>
    );
  return (
    <form className="stack" onSubmit={submit}>
      {begin.data === undefined ? (
        <>
          <p>Logins will ask for a code from an authenticator app as well as your password.</p>
          <TextField
            label="Password"
            type="password"
            autoComplete="current-password"
            value={password}
            onChange={setPassword}
            required
          />
          <ErrorLine error={begin.error} />
        </>
      ) : (
        <>
          <p>
            Scan this with your authenticator app, or enter the secret there; then type the code that the app
            shows.
          </p>
          <Suspense fallback={<div className="qr-code" />}>
            <QrCode text={begin.data.otpauth_uri} label="QR code to scan" />
          </Suspense>
          <Copyable text={begin.data.secret} label="Secret" block />
          <p>
            <a href={begin.data.otpauth_uri}>Open it in an app on this device</a>
          </p>
          <TextField
            label="Code"
            autoComplete="one-time-code"
            value={code}
            onChange={setCode}
            required
            autoFocus
          />
          <ErrorLine error={confirm.error} />
        </>
      )}
      <ActButton type="submit" look="button primary" isPending={begin.isPending || confirm.isPending}>
        {begin.data === undefined ? 'Continue' : 'Turn the second factor on'}
      </ActButton>
    </form>
  );
}
