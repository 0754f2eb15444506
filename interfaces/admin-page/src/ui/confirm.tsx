import type { ReactNode } from 'react';
import { FormDialog } from './form-dialog.tsx';

/** Asks before something is destroyed: says what will happen, with a button that names the act. */
export const Confirm = ({
  title,
  act,
  onAct,
  onClose,
  isPending,
  error,
  children,
}: {
  readonly title: string;
  /** The label of the button: the act and its scope, such as `Revoke 2 keys`. */
  readonly act: string;
  readonly onAct: () => void;
  readonly onClose: () => void;
  readonly isPending: boolean;
  readonly error: Error | null;
  /** A sentence that says what will happen. */
  readonly children: ReactNode;
}) => (
  <FormDialog
    title={title}
    act={act}
    tone="danger"
    isPending={isPending}
    error={error}
    onSubmit={onAct}
    onClose={onClose}
  >
    {children}
  </FormDialog>
);
