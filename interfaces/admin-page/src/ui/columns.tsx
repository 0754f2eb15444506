import type { Column } from './table.tsx';
import { CountedRequests, ModelLink, OwnerLink, type Owner } from './things.tsx';
import { Id, Money } from './values.tsx';

/** A model, as a link to it. */
export const modelColumn: Column<{ readonly model_key: string }> = {
  key: 'model',
  title: 'Model',
  cell: ({ model_key: model }) => <ModelLink model={model} />,
  text: ({ model_key: model }) => model,
};

/** A person or a team, as a link to them. */
export const ownerColumn: Column<Owner> = {
  key: 'owner',
  title: 'Owner',
  cell: (owner) => <OwnerLink owner={owner} />,
  text: (owner) => owner.owner_name,
};

/** Names of owners may be the same; their ids are not. */
export const ownerIdColumn: Column<Pick<Owner, 'owner_id'>> = {
  key: 'owner_id',
  title: 'Owner id',
  hidden: true,
  cell: ({ owner_id: id }) => <Id of={id} />,
  text: ({ owner_id: id }) => id,
};

/** The total cost of requests. */
export const spendColumn: Column<{ readonly spend_usd: string }> = {
  key: 'spend',
  title: 'Spend',
  align: 'end',
  cell: ({ spend_usd: usd }) => <Money usd={usd} />,
  text: ({ spend_usd: usd }) => usd,
};

/** The number of requests, as a link to them. */
export const requestsColumn = <R,>(
  countOf: (row: R) => number,
  /** Filters for the list of requests. */
  where: (row: R) => Readonly<Record<string, string>>,
): Column<R> => ({
  key: 'requests',
  title: 'Requests',
  align: 'end',
  cell: (row) => <CountedRequests of={countOf(row)} where={where(row)} />,
  text: countOf,
});
