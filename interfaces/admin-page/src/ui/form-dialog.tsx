import type { FormEvent, ReactNode } from 'react';
import { ActButton } from './act-button.tsx';
import { Dialog } from './dialog.tsx';
import { ErrorLine } from './states.tsx';

interface Act {
  /** The label of the button: the act and its scope, such as `Revoke 2 keys`. */
  readonly act: string;
  /** `danger` for destructive acts. */
  readonly tone?: 'primary' | 'danger' | undefined;
  readonly isPending: boolean;
  /** False when the form cannot be sent. */
  readonly isReady?: boolean | undefined;
  readonly onClose: () => void;
}

/** The buttons of a form in a dialog: cancel, and the act. */
export const FormActions = ({ act, tone = 'primary', isPending, isReady = true, onClose }: Act) => (
  <div className="actions">
    <button type="button" className="button" onClick={onClose}>
      Cancel
    </button>
    <ActButton type="submit" look={`button ${tone}`} isPending={isPending} isReady={isReady}>
      {isPending ? 'One moment…' : act}
    </ActButton>
  </div>
);

/** A dialog with fields, an error line and its buttons. */
export function FormDialog({
  title,
  error,
  onSubmit,
  checksItself = false,
  children,
  ...act
}: Act & {
  readonly title: string;
  readonly error: Error | null;
  readonly onSubmit: () => void;
  /** The form reports its own faults, instead of the browser. */
  readonly checksItself?: boolean;
  /** The fields, and a sentence that says what will happen. */
  readonly children: ReactNode;
}) {
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onSubmit();
  };
  return (
    <Dialog title={title} onClose={act.onClose}>
      <form className="stack" onSubmit={submit} noValidate={checksItself}>
        {children}
        <ErrorLine error={error} />
        <FormActions {...act} />
      </form>
    </Dialog>
  );
}
