import type { FormEvent, ReactNode } from 'react';
import { Dialog } from './dialog.tsx';
import { ErrorLine } from './states.tsx';

interface Act {
  /** What the button says: the act and its scope, such as `Revoke 2 keys`. */
  readonly act: string;
  /** `danger` for what destroys. */
  readonly tone?: 'primary' | 'danger' | undefined;
  readonly isPending: boolean;
  /** False where the form says nothing that can be sent. */
  readonly isReady?: boolean | undefined;
  readonly onClose: () => void;
}

/** The buttons of a form in a dialog: the way out, and the act. */
export const FormActions = ({ act, tone = 'primary', isPending, isReady = true, onClose }: Act) => (
  <div className="actions">
    <button type="button" className="button" onClick={onClose}>
      Cancel
    </button>
    <button type="submit" className={`button ${tone}`} disabled={isPending || !isReady}>
      {isPending ? 'One moment…' : act}
    </button>
  </div>
);

/** A dialog with fields, what went wrong, and its buttons. */
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
  /** The form says what is wrong in its own words: the browser does not. */
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
