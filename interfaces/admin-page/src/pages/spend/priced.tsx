import type { Got } from '../../api/client.ts';
import { CountedRequests } from '../../ui/things.tsx';
import { Count } from '../../ui/values.tsx';
import type { pricingWords } from '../request-logs/choices.ts';

export type SpendReport = Got<'/api/v1/admin/spend/report'>;

/** A state of rows of the ledger, as the list of requests is asked for it. */
export type PricingState = keyof typeof pricingWords;

/** So many of some requests are in this state, as a link to them. */
export const Priced = ({
  state,
  of,
  where,
}: {
  readonly state: PricingState;
  readonly of: number;
  readonly where: Readonly<Record<string, string>>;
}) => (of === 0 ? <Count of={0} /> : <CountedRequests of={of} where={{ ...where, pricing_status: state }} />);
