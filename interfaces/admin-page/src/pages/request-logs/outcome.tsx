import { usdText } from '../../ui/amounts.ts';
import { Badge, Dash, Duration, Money } from '../../ui/values.tsx';
import { fieldsOf, asText } from '../../api/loose-json.ts';
import { pricingWords } from './choices.ts';
import { isStream, type LoggedRow } from './request-log.ts';

type Ended = Pick<LoggedRow, 'status_code' | 'error_code'>;

/** The status and its cause, in words. */
export function outcomeText({ status_code: status, error_code: code }: Ended): string {
  if (code !== null) return `${status} ${code}`;
  return status < 400 ? `${status} success` : String(status);
}

/** A client disconnect is no error. */
export function OutcomeBadge({ of }: { readonly of: Ended }) {
  return <Badge tone={toneOf(of.status_code)}>{outcomeText(of)}</Badge>;
}

function toneOf(status: number): 'good' | 'warn' | 'bad' | 'plain' {
  if (status === 499) return 'plain';
  if (status < 400) return 'good';
  return status < 500 ? 'warn' : 'bad';
}

/** Only streams have a first token. */
export const FirstToken = ({ of }: { readonly of: Pick<LoggedRow, 'first_token_ms' | 'metadata'> }) =>
  isStream(of) === false ? <Dash /> : <Duration ms={of.first_token_ms} />;

type Accounted = Pick<LoggedRow, 'pricing_status' | 'cost_usd'>;

/** The pricing state in the ledger; `undefined` for a request that is not in the ledger. */
export const pricingText = ({ pricing_status: status }: Accounted): string | undefined =>
  status === null ? undefined : pricingWords[status];

/** The exact cost, and any state other than `priced`. */
export function Cost({ of }: { readonly of: Accounted }) {
  const words = pricingText(of);
  if (words === undefined) return <Dash />;
  return (
    <>
      {of.cost_usd === null ? null : <Money usd={of.cost_usd} />}
      {of.pricing_status === 'priced' ? null : (
        <>
          {' '}
          <Badge tone="warn">{words}</Badge>
        </>
      )}
    </>
  );
}

/** The cost that was seen of a request without a ledger row, and why it has no row. */
export function accountingNotes({ metadata }: Pick<LoggedRow, 'metadata'>): readonly string[] {
  const accounting = fieldsOf(fieldsOf(metadata)['accounting']);
  const blocked = asText(accounting['blocked_cost_usd']);
  const unbilled = asText(accounting['unbilled_cost_usd']);
  return [
    ...(blocked === undefined
      ? []
      : [`A budget blocked its cost of ${usdText(blocked)}: it is not in the ledger.`]),
    ...(unbilled === undefined
      ? []
      : [`It failed: ${usdText(unbilled)} of usage were seen, and are not in the ledger.`]),
    ...(accounting['duplicate'] === true
      ? ['Its request id was already charged: this request is not in the ledger a second time.']
      : []),
  ];
}
