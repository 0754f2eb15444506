import { type ReactNode, useState } from 'react';

/** A collapsed section. Its content is rendered only when it is open. */
export function More({
  title,
  isOpenAtFirst = false,
  children,
}: {
  readonly title: string;
  readonly isOpenAtFirst?: boolean;
  readonly children: ReactNode;
}) {
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  return (
    <details className="fold" open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{title}</summary>
      {isOpen ? children : null}
    </details>
  );
}
