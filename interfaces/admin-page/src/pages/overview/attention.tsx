import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { grouped } from '../../ui/amounts.ts';
import { Icon } from '../../ui/icons.tsx';
import { ofWindow, OwnerLink, RequestsLink } from '../../ui/things.tsx';
import type { Overview } from './overview-data.ts';

type Fact = Overview['attention'][number];
type Item = Fact['items'][number];

interface Terms {
  /** Its name, in singular and plural. */
  readonly one: string;
  readonly many: string;
  readonly about: ReactNode;
  readonly link?: ReactNode;
  readonly tone: 'warn' | 'bad';
}

const termsOf: Readonly<Record<Fact['kind'], Terms>> = {
  unpriced_models: {
    one: 'model without a price',
    many: 'models without a price',
    about: 'Their requests are counted, but have no cost in the ledger.',
    link: <Link to="/models">Models</Link>,
    tone: 'warn',
  },
  budget_blocks: {
    one: 'budget hit its hard limit',
    many: 'budgets hit their hard limit',
    about: 'An answer was blocked, or the hard limit is reached and requests are refused.',
    link: (
      <Link to="/budgets" search={{ state: 'blocked' }}>
        Budgets
      </Link>
    ),
    tone: 'bad',
  },
  failed_mails: {
    one: 'mail was not sent',
    many: 'mails were not sent',
    about: 'Somebody was not told that a budget is nearly spent.',
    link: <Link to="/alerts">Alerts</Link>,
    tone: 'bad',
  },
  journal_records: {
    one: 'record waits in the journal',
    many: 'records wait in the journal',
    about: 'This spend is not in the database yet. Keep the data folder of this replica.',
    tone: 'bad',
  },
  replicas_behind: {
    one: 'process has not been seen lately',
    many: 'processes have not been seen lately',
    about: 'A replica was stopped, or cannot reach the database.',
    tone: 'warn',
  },
  provider_errors: {
    one: 'route failed upstream in the last hour',
    many: 'routes failed upstream in the last hour',
    about: 'Callers got an error from the provider.',
    tone: 'bad',
  },
};

/** What somebody should look at, or a line that says that there is nothing. */
export function Attention({ of }: { readonly of: Overview }) {
  const found = of.attention.filter(({ count }) => count > 0);
  return (
    <section aria-labelledby="attention" className="stack">
      <h2 id="attention">Needs attention</h2>
      {found.length === 0 ? (
        <p className="calm">
          <Icon name="check" /> Nothing needs attention.
        </p>
      ) : (
        <ul className="attention">
          {found.map((fact) => (
            <li key={fact.kind} className={termsOf[fact.kind].tone}>
              <Found fact={fact} of={of} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Found({ fact, of }: { readonly fact: Fact; readonly of: Overview }) {
  const { one, many, about, link, tone } = termsOf[fact.kind];
  const more = fact.count - fact.items.length;
  return (
    <>
      <Icon name={tone === 'bad' ? 'error' : 'warning'} />
      <div>
        <p>
          <strong>
            {fact.count_is_lower_bound ? 'More than ' : ''}
            {grouped(fact.count)} {fact.count === 1 ? one : many}.
          </strong>{' '}
          {about} {link}
        </p>
        <ul className="attention-items">
          {fact.items.map((item) => (
            <li key={`${item.kind} ${item.id} ${item.title}`}>
              <Named item={item} of={of} />
            </li>
          ))}
          {isOfItems[fact.kind] && more > 0 ? <li className="muted">and {grouped(more)} more</li> : null}
        </ul>
      </div>
    </>
  );
}

/** Whether the count is the number of items. Failed mails and journal records are summed over their items instead. */
const isOfItems: Readonly<Record<Fact['kind'], boolean>> = {
  unpriced_models: true,
  budget_blocks: true,
  failed_mails: false,
  journal_records: false,
  replicas_behind: true,
  provider_errors: true,
};

const hourMs = 3_600_000;

function Named({ item, of }: { readonly item: Item; readonly of: Overview }) {
  switch (item.kind) {
    case 'model':
      return (
        <>
          <Link to="/models" search={{ open: item.id }}>
            {item.id}
          </Link>
          :{' '}
          {item.count === 0 ? (
            'no unpriced request yet'
          ) : (
            <RequestsLink where={{ model_key: item.id, pricing_status: 'unpriced', ...ofWindow(of) }}>
              {grouped(item.count)} unpriced
            </RequestsLink>
          )}
        </>
      );
    case 'user':
    case 'team':
      return (
        <>
          <OwnerLink owner={{ owner_kind: item.kind, owner_id: item.id, owner_name: item.title }} /> (
          <Link to="/budgets" search={{ open: item.id }}>
            budget
          </Link>
          )
        </>
      );
    case 'route':
      return (
        <RequestsLink
          where={{
            model_key: item.id,
            provider_key: item.title,
            error_code: 'upstream_error',
            from: new Date(Date.parse(of.now) - hourMs).toISOString(),
          }}
        >
          {item.id} at {item.title}: {grouped(item.count)}
        </RequestsLink>
      );
    case 'gateway_process':
      return (
        <>
          <code>{item.title}</code>, seen {grouped(item.count)} s ago
        </>
      );
    case 'journal_file':
      return (
        <>
          <code>{item.title}</code>: {grouped(item.count)}
        </>
      );
  }
}
