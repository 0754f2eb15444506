import type { ResponseData } from '../../api/client.ts';
import { CountedRequests } from '../../ui/things.tsx';
import { Count } from '../../ui/values.tsx';
import type { pricingWords } from '../request-logs/choices.ts';

export type SpendReport = ResponseData<'/api/v1/admin/spend/report'>;

/** A pricing state of ledger rows, as a filter of the list of requests. */
export type PricingState = keyof typeof pricingWords;

/** The number of requests in this state, as a link to them. */
export const Priced = ({
  state,
  of,
  where,
}: {
  readonly state: PricingState;
  readonly of: number;
  readonly where: Readonly<Record<string, string>>;
}) => (of === 0 ? <Count of={0} /> : <CountedRequests of={of} where={{ ...where, pricing_status: state }} />);
