import { grouped, percentText, shareBps, usdText } from './amounts.ts';

/** Spend against an amount, with a mark where 20 % remain, which is when the alert is sent. */
export function BudgetBar({
  spendUsd,
  amountUsd,
  isHard,
  label,
}: {
  readonly spendUsd: string;
  readonly amountUsd: string;
  readonly isHard: boolean;
  /** The owner of the budget. */
  readonly label: string;
}) {
  const share = shareBps(spendUsd, amountUsd);
  if (share === undefined) return <span className="muted">{isHard ? 'refuses all' : 'refuses nothing'}</span>;
  const tone = share >= 10_000 ? 'bad' : share >= 8_000 ? 'warn' : '';
  const text = percentText(share);
  const amounts = `${grouped(spendUsd)} of ${usdText(amountUsd)}`;
  return (
    <span className="budget-bar">
      <span
        className={`meter ${tone}`}
        role="meter"
        aria-label={`Spent of the budget of ${label}`}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.min(100, Math.floor(share / 100))}
        aria-valuetext={`${text}, ${amounts}`}
        title={`${amounts}; the mark is at 80 %, where the alert is sent`}
      >
        <span style={{ width: `${Math.min(100, share / 100)}%` }} />
        <i className="meter-mark" />
      </span>
      <span className="number budget-share">{text}</span>
    </span>
  );
}
