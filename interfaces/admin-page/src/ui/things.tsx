import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { kindPaths } from '../api/search.ts';
import { Count } from './values.tsx';

export interface Owner {
  readonly owner_kind: 'user' | 'team';
  readonly owner_id: string;
  readonly owner_name: string;
}

/** A link to a person or a team. */
export const OwnerLink = ({ owner }: { readonly owner: Owner }) => (
  <Link to={kindPaths[owner.owner_kind]} search={{ open: owner.owner_id }}>
    {owner.owner_name}
  </Link>
);

/** Filters for the list of requests, to show those of an owner. */
export const ofOwner = ({
  owner_kind,
  owner_id,
}: Omit<Owner, 'owner_name'>): Readonly<Record<string, string>> =>
  owner_kind === 'user' ? { user_id: owner_id } : { team_id: owner_id };

/** The same, to show those in the window of a report, a budget or an alert. */
export const ofWindow = ({
  window_start: from,
  window_end: to,
}: {
  readonly window_start: string;
  readonly window_end: string;
}) => ({ from, to });

/** Filters for the list of requests, to show those with a row in the ledger: reports count no others. */
export const inLedger = { in_ledger: 'true' } as const;

/** A link to the requests that a number sums. */
export const RequestsLink = ({
  where,
  children,
}: {
  /** Filters for the list of requests. */
  readonly where: Readonly<Record<string, string>>;
  readonly children: ReactNode;
}) => (
  <Link to="/observability/request-logs" search={where} className="number">
    {children}
  </Link>
);

/** A number of requests, as a link to them. */
export const CountedRequests = ({
  of,
  where,
}: {
  readonly of: number;
  readonly where: Readonly<Record<string, string>>;
}) => (
  <RequestsLink where={where}>
    <Count of={of} />
  </RequestsLink>
);

export const ModelLink = ({ model }: { readonly model: string }) => (
  <Link to="/models" search={{ open: model }}>
    {model}
  </Link>
);

/** Calls at `/mcp` are not answered by a single server. Records name their server `*`. */
const everyServer = '*';

/** A link to an MCP server. */
export const McpServerLink = ({ id, children }: { readonly id: string; readonly children?: ReactNode }) =>
  id === everyServer ? (
    <span title="All servers as one">/mcp</span>
  ) : (
    <Link to="/mcp-servers" search={{ open: id }} title={id}>
      {children ?? id}
    </Link>
  );
