import { type FormEvent, type ReactNode, useState } from 'react';
import { Dialog } from './dialog.tsx';
import { TextField } from './fields.tsx';
import { ErrorLine } from './states.tsx';

/** Asks before something is destroyed: what will happen, and a button that names the act. */
export function Confirm({
  title,
  act,
  onAct,
  onClose,
  isPending,
  error,
  typed,
  children,
}: {
  readonly title: string;
  /** What the button says: the act and its scope, such as `Revoke 2 keys`. */
  readonly act: string;
  readonly onAct: () => void;
  readonly onClose: () => void;
  readonly isPending: boolean;
  readonly error: Error | null;
  /** A name that must be typed; only for what cannot be undone. */
  readonly typed?: string;
  /** A sentence that says what will happen. */
  readonly children: ReactNode;
}) {
  const [text, setText] = useState('');
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onAct();
  };
  return (
    <Dialog title={title} open onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <div>{children}</div>
        {typed === undefined ? null : (
          <TextField label={`Type “${typed}” to go on`} value={text} onChange={setText} autoFocus />
        )}
        <ErrorLine error={error} />
        <div className="actions">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="submit"
            className="button danger"
            disabled={isPending || (typed !== undefined && text !== typed)}
          >
            {isPending ? 'One moment…' : act}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
