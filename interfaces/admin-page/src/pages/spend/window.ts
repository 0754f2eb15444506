/** What the report and its chart are asked for. */
export interface SpendAsk {
  readonly days: '7' | '30';
  readonly owner_kind: 'all' | 'user' | 'team';
}

const dayMs = 86_400_000;

/** The last day of a window whose end is not in it. */
export const until = (windowEnd: string): string =>
  new Date(Date.parse(windowEnd) - 1).toISOString().slice(0, 10);

/** The filters of the list of requests that select one UTC day. */
export const ofDay = (day: string): { readonly from: string; readonly to: string } => ({
  from: `${day}T00:00:00Z`,
  to: new Date(Date.parse(`${day}T00:00:00Z`) + dayMs).toISOString(),
});
