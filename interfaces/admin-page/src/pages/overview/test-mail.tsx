import { useMutation } from '@tanstack/react-query';
import { api, read } from '../../api/client.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { ErrorLine } from '../../ui/states.tsx';

/** Sends a mail to the admin who is logged in, and shows the mail server's answer. */
export function TestMail() {
  const test = useMutation({ mutationFn: () => read(api.POST('/api/v1/admin/mail/test')) });
  return (
    <div className="stack tight">
      <div>
        <ActButton isPending={test.isPending} onAct={() => test.mutate()}>
          {test.isPending ? 'Waiting for the mail server…' : 'Send a test mail to yourself'}
        </ActButton>
      </div>
      <ErrorLine error={test.error} />
      <p role="status">
        {test.data === undefined
          ? ''
          : test.data.sent
            ? `The mail server accepted a mail to ${test.data.to}. Check whether it has arrived.`
            : `Nothing was sent to ${test.data.to}: ${test.data.failure}`}
      </p>
    </div>
  );
}
