import { type Picodollars, toUsd } from '../money/money.ts';
import type { Cadence } from './budget.ts';
import { alertThresholdBps } from './budget-alert.ts';
import type { Window } from '../shared/window.ts';

/** A budget whose remaining amount has reached the alert threshold. */
export interface BudgetAlert {
  readonly ownerKind: 'user' | 'team';
  readonly ownerName: string;
  readonly cadence: Cadence;
  readonly window: Window;
  readonly amount: Picodollars;
  /** Counted spend of the window when the alert was raised. */
  readonly spent: Picodollars;
  readonly hardLimit: boolean;
}

export interface Mail {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/**
 * The unspent part of the amount. It is negative when more was spent, under a soft budget or before the amount was
 * lowered.
 */
export const remaining = ({ amount, spent }: Pick<BudgetAlert, 'amount' | 'spent'>): Picodollars =>
  amount - spent;

/** What happens to requests when nothing remains. */
const limitOf = ({ hardLimit }: BudgetAlert): string =>
  hardLimit
    ? 'hard (when nothing remains requests are refused; an answer that costs more than remains is blocked)'
    : 'soft (nothing is refused)';

/** The mail of an alert: owner, window, amount, whether the limit is hard, spent, remaining and, if known, where to look. */
export function alertMail(alert: BudgetAlert, whereToLook: string | undefined): Mail {
  const owner = oneLine(`${alert.ownerKind} ${alert.ownerName}`);
  const rows = [
    ['Owner', owner],
    [
      'Window',
      `${alert.window.from.toISOString()} to ${alert.window.until.toISOString()} (${alert.cadence}, UTC)`,
    ],
    ['Amount', `${toUsd(alert.amount)} USD`],
    ['Limit', limitOf(alert)],
    ['Spent', `${toUsd(alert.spent)} USD`],
    ['Remaining', `${toUsd(remaining(alert))} USD`],
    ...(whereToLook === undefined ? [] : [['Where to look', whereToLook] as const]),
  ] as const;
  const lead = `The ${alert.hardLimit ? 'hard' : 'soft'} ${alert.cadence} budget of ${owner} has ${alertThresholdBps / 100} % or less remaining.`;
  return {
    subject: `Budget alert: ${owner} has ${toUsd(remaining(alert))} of ${toUsd(alert.amount)} USD left`,
    text: `${lead}\n\n${rows.map(([name, value]) => `${name}: ${value}`).join('\n')}\n`,
    html: `<!doctype html><html><body><p>${escaped(lead)}</p><table>${rows
      .map(([name, value]) => `<tr><th align="left">${name}</th><td>${escaped(value)}</td></tr>`)
      .join('')}</table></body></html>`,
  };
}

/** A mail that only shows that mails arrive. `whereFrom` is the address of the gateway. */
export function testMail(whereFrom: string): Mail {
  const text = `A platform admin had the gateway at ${whereFrom} send this. Alerts of budgets come the same way.`;
  return {
    subject: 'Test mail of the model gateway',
    text: `${text}\n`,
    html: `<!doctype html><html><body><p>${escaped(text)}</p></body></html>`,
  };
}

/** Line breaks and control characters become blanks, so that a name cannot start a line or a mail header of its own. */
const oneLine = (text: string): string => text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (each) => entities[each] ?? each);
