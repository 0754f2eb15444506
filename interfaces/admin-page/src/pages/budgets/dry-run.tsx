import type { ResponseData } from '../../api/client.ts';
import { Count, Dash, Money, Time } from '../../ui/values.tsx';
import { usdOf10000, usdText } from '../../ui/amounts.ts';
import { type BudgetTerms, eachOf } from './owners.ts';

type Found = ResponseData<'/api/v1/admin/spend/budgets/teams/{team_id}/dry-run', 'post'>;

/** What a hard budget with these terms would have blocked, in the last window and in the current one. */
export const DryRun = ({
  found: { last_window: last, current_window: current },
  terms,
}: {
  readonly found: Found;
  readonly terms: BudgetTerms;
}) => (
  <section className="stack" aria-label="Dry run" role="status">
    <p>
      {usdText(usdOf10000(terms.amount_10000))} per {eachOf(terms.cadence)}, as a hard limit:
    </p>
    <div className="table-scroll fit" tabIndex={0} role="region" aria-label="Dry run, scrolls">
      <table>
        <caption className="unseen">What it would have blocked</caption>
        <thead>
          <tr>
            <th scope="col">Window</th>
            <th scope="col" className="end">
              Blocked answers
            </th>
            <th scope="col" className="end">
              Their cost
            </th>
            <th scope="col">First at</th>
            <th scope="col" className="end">
              Actually spent
            </th>
          </tr>
        </thead>
        <tbody>
          {(
            [
              ['Last', last],
              ['This one, so far', current],
            ] as const
          ).map(([name, each]) => (
            <tr key={name}>
              <th scope="row">
                {name}, from <Time at={each.window.start} dateOnly />
              </th>
              <td className="end">
                <Count of={each.blocked_requests} />
              </td>
              <td className="end">
                <Money usd={each.blocked_cost_usd} />
              </td>
              <td>{each.would_block_from === null ? <Dash /> : <Time at={each.would_block_from} />}</td>
              <td className="end">
                <Money usd={each.spend_usd} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  </section>
);
