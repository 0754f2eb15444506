import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { Dialog } from '../ui/dialog.tsx';
import { TextField } from '../ui/fields.tsx';

/** Finds any thing by its id or name. */
export function SearchDialog({ onClose }: { readonly onClose: () => void }) {
  const [text, setText] = useState('');
  const navigate = useNavigate();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void navigate({ to: '/observability/request-logs', search: { request_id: text } });
    onClose();
  };
  return (
    <Dialog title="Search" open onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <TextField label="Request id" value={text} onChange={setText} autoFocus />
      </form>
    </Dialog>
  );
}
