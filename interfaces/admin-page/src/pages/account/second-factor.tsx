import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, read } from '../../api/client.ts';
import { EnrolSecondFactor } from '../../app/enrol.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { faultOf, TextField } from '../../ui/fields.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { notify } from '../../ui/notices.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { Badge } from '../../ui/values.tsx';

/** Whether logins by password ask for a code, and how to turn that on and off. */
export function SecondFactor() {
  const client = useQueryClient();
  const [act, setAct] = useState<'enrol' | 'save codes' | 'remove'>();
  const factor = useQuery({
    queryKey: ['second-factor'],
    queryFn: ({ signal }) => read(api.GET('/api/v1/auth/second-factor', { signal })),
  });
  const done = (): void => {
    setAct(undefined);
    void client.invalidateQueries({ queryKey: ['second-factor'] });
  };
  return (
    <section className="stack" aria-labelledby="second-factor">
      <h2 id="second-factor">Second factor</h2>
      <Loaded query={factor} what="the second factor">
        {({ state }) =>
          state === 'enrolled' ? (
            <div className="row">
              <Badge tone="good">on</Badge>
              <span className="muted">Password logins ask for a code from your authenticator app.</span>
              <button type="button" className="button" onClick={() => setAct('remove')}>
                Remove it…
              </button>
            </div>
          ) : (
            <div className="row">
              <Badge tone="warn">off</Badge>
              <span className="muted">Anyone who knows your password can log in.</span>
              <button type="button" className="button" onClick={() => setAct('enrol')}>
                Turn it on…
              </button>
            </div>
          )
        }
      </Loaded>
      {act === 'enrol' || act === 'save codes' ? (
        // Recovery codes are shown only once: the dialog stays until they are saved.
        <Dialog title="Turn the second factor on" onClose={act === 'enrol' ? done : undefined}>
          <EnrolSecondFactor
            onEnrolled={() => setAct('save codes')}
            onDone={() => {
              notify('The second factor is on. Your other sessions have ended.');
              done();
            }}
          />
        </Dialog>
      ) : null}
      {act === 'remove' ? <RemoveFactor onClose={done} /> : null}
    </section>
  );
}

function RemoveFactor({ onClose }: { readonly onClose: () => void }) {
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const remove = useMutation({
    mutationFn: () => read(api.DELETE('/api/v1/auth/second-factor', { body: { password, code } })),
    onSuccess: () => {
      notify('The second factor was removed. Its recovery codes no longer work.');
      onClose();
    },
  });
  return (
    <FormDialog
      title="Remove the second factor?"
      act="Remove second factor"
      tone="danger"
      isPending={remove.isPending}
      error={remove.error}
      onSubmit={() => remove.mutate()}
      onClose={onClose}
    >
      <p>
        From your next login on, your password alone will log you in. The recovery codes stop working, too.
      </p>
      <TextField
        label="Password"
        type="password"
        autoComplete="current-password"
        value={password}
        onChange={setPassword}
        fault={faultOf(remove.error, 'password')}
        required
      />
      <TextField
        label="Code"
        hint="From your authenticator app, or a recovery code."
        autoComplete="one-time-code"
        value={code}
        onChange={setCode}
        fault={faultOf(remove.error, 'code')}
        required
      />
    </FormDialog>
  );
}
