import { Link } from '@tanstack/react-router';
import { kindPaths } from '../../api/search.ts';
import { Id } from '../../ui/values.tsx';
import type { AdminEvent } from './events.ts';

/** The page of each kind. */
const pageOf: Readonly<Record<string, string>> = { ...kindPaths, admin_token: '/account' };

/** Changes of budgets and rate limits have their owner as the target. */
const pageOfAction: Readonly<Record<string, string>> = { budget: '/budgets', rate_limit: '/rate-limits' };

/** A link to the object that was changed. */
export function TargetLink({
  event: { action, target_kind: kind, target_id: id },
  short = true,
}: {
  readonly event: Pick<AdminEvent, 'action' | 'target_kind' | 'target_id'>;
  readonly short?: boolean;
}) {
  const page = pageOfAction[action.split('.')[0] ?? ''] ?? pageOf[kind];
  const shown = <Id of={id} short={short} />;
  return page === undefined ? (
    shown
  ) : (
    <Link to={page} search={{ open: id }}>
      {shown}
    </Link>
  );
}
