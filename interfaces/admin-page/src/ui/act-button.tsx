import type { ReactNode } from 'react';

/**
 * A button whose act may be under way. Meanwhile a press does nothing, nor does Enter in a field of its form. It is not
 * `disabled`, because a disabled button loses the focus (rule 52.15).
 */
export const ActButton = ({
  type = 'button',
  look = 'button',
  isPending,
  isReady = true,
  onAct,
  children,
}: {
  readonly type?: 'button' | 'submit';
  readonly look?: string;
  readonly isPending: boolean;
  /** False when there is nothing that could be done. */
  readonly isReady?: boolean;
  /** What a press does, besides submitting the form. */
  readonly onAct?: () => void;
  readonly children: ReactNode;
}) => (
  <button
    type={type}
    className={look}
    disabled={!isReady && !isPending}
    aria-disabled={isPending}
    onClick={(event) => {
      if (isPending) event.preventDefault();
      else onAct?.();
    }}
  >
    {children}
  </button>
);
