import { useBlocker } from '@tanstack/react-router';
import { type ClipboardEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { Dialog } from './dialog.tsx';
import { Icon } from './icons.tsx';
import { CopyButton } from './values.tsx';

/**
 * A secret that is shown only once, in a field that selects itself. Any way of leaving before it was copied asks first.
 */
export function SecretDialog({
  title,
  label,
  secret,
  onClose,
  children,
}: {
  readonly title: string;
  /** What the secret is. */
  readonly label: string;
  readonly secret: string;
  readonly onClose: () => void;
  /** Where to paste it. The argument is to be called when a text with the secret was copied. */
  readonly children?: (onCopied: () => void) => ReactNode;
}) {
  const [isCopied, setCopied] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const leave = useBlocker({
    shouldBlockFn: () => !isCopied,
    enableBeforeUnload: () => !isCopied,
    withResolver: true,
  });
  useEffect(() => field.current?.select(), []);
  const copied = (): void => setCopied(true);
  const close = (): void => (isCopied ? onClose() : setAsking(true));
  return (
    <Dialog title={title} onClose={close}>
      <div
        className="stack"
        onCopy={(event) => {
          if (copiedText(event).includes(secret)) copied();
        }}
      >
        <p>It is shown only this once. Copy it to a safe place.</p>
        <div className="copyable">
          <input
            ref={field}
            readOnly
            autoFocus
            aria-label={label}
            value={secret}
            onFocus={({ target }) => target.select()}
          />
          <CopyButton text={secret} onCopied={copied} />
        </div>
        <p className="muted" role="status">
          {isCopied ? (
            <>
              <Icon name="check" /> Copied.
            </>
          ) : (
            'Not copied yet.'
          )}
        </p>
        {children?.(copied)}
        <div className="actions">
          <button type="button" className="button primary" onClick={close}>
            Done
          </button>
        </div>
      </div>
      {isAsking || leave.status === 'blocked' ? (
        <LeaveUncopied
          onStay={() => {
            setAsking(false);
            leave.reset?.();
          }}
          onLeave={() => {
            leave.proceed?.();
            onClose();
          }}
        />
      ) : null}
    </Dialog>
  );
}

/** The text that is being copied. The selection of the document does not have what is selected in a field. */
const copiedText = ({ target }: ClipboardEvent): string =>
  target instanceof HTMLInputElement
    ? target.value.slice(target.selectionStart ?? 0, target.selectionEnd ?? 0)
    : String(document.getSelection());

const LeaveUncopied = ({
  onStay,
  onLeave,
}: {
  readonly onStay: () => void;
  readonly onLeave: () => void;
}) => (
  <Dialog title="Leave without copying it?" onClose={onStay}>
    <div className="stack">
      <p>It has not been copied, and it cannot be shown again. You would have to create another one.</p>
      <div className="actions">
        <button type="button" className="button" onClick={onStay} autoFocus>
          Stay
        </button>
        <button type="button" className="button danger" onClick={onLeave}>
          Leave without it
        </button>
      </div>
    </div>
  </Dialog>
);
