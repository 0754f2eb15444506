import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { api, read } from '../../api/client.ts';
import { useSession } from '../../app/session.tsx';
import { ActButton } from '../../ui/act-button.tsx';
import { faultOf, TextField } from '../../ui/fields.tsx';
import { notify } from '../../ui/notices.tsx';
import { ErrorLine } from '../../ui/states.tsx';

/** Changes one's own password. The current one is required. */
export function ChangePassword() {
  const { email } = useSession();
  const [present, setPresent] = useState('');
  const [next, setNext] = useState('');
  const [again, setAgain] = useState('');
  const [isUnlike, setUnlike] = useState(false);
  const change = useMutation({
    mutationFn: () =>
      read(api.POST('/api/v1/auth/password', { body: { current_password: present, new_password: next } })),
    onSuccess: () => {
      setPresent('');
      setNext('');
      setAgain('');
      notify('Your password was changed. Your other sessions have ended; your API tokens still work.');
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setUnlike(next !== again);
    if (next === again) change.mutate();
  };
  return (
    <section className="stack" aria-labelledby="password">
      <h2 id="password">Password</h2>
      <form className="stack narrow" onSubmit={submit}>
        {/* Password managers store a password with its account. */}
        <input type="email" autoComplete="username" value={email} readOnly hidden />
        <TextField
          label="Current password"
          type="password"
          autoComplete="current-password"
          value={present}
          onChange={setPresent}
          fault={faultOf(change.error, 'current_password')}
          required
        />
        <TextField
          label="New password"
          hint="At least 12 characters, and not a common password."
          type="password"
          autoComplete="new-password"
          value={next}
          onChange={setNext}
          fault={faultOf(change.error, 'new_password')}
          required
        />
        <TextField
          label="New password again"
          type="password"
          autoComplete="new-password"
          value={again}
          onChange={setAgain}
          fault={isUnlike ? 'It does not match the one above.' : undefined}
          required
        />
        <p className="muted">Your other sessions will end. The second factor stays.</p>
        <ErrorLine error={change.error} />
        <div className="actions">
          <ActButton type="submit" isPending={change.isPending}>
            {change.isPending ? 'One moment…' : 'Change password'}
          </ActButton>
        </div>
      </form>
    </section>
  );
}
