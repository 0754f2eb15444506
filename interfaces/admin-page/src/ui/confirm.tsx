import { type ReactNode, useState } from 'react';
import { TextField } from './fields.tsx';
import { FormDialog } from './form-dialog.tsx';

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
  return (
    <FormDialog
      title={title}
      act={act}
      tone="danger"
      isPending={isPending}
      isReady={typed === undefined || text === typed}
      error={error}
      onSubmit={onAct}
      onClose={onClose}
    >
      <div>{children}</div>
      {typed === undefined ? null : (
        <TextField label={`Type “${typed}” to go on`} value={text} onChange={setText} autoFocus />
      )}
    </FormDialog>
  );
}
