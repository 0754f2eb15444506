/** A number with separators in each thousand (rule 52.24). All its digits stay as they are. */
export function grouped(number: number | string): string {
  const [whole = '', ...fraction] = String(number).split('.');
  return [whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ','), ...fraction].join('.');
}

/** An exact amount, as it is shown. */
export const usdText = (usd: string): string => `${grouped(usd)} USD`;

/** Picodollars of an exact amount such as `12.3456`, in whole numbers, so that nothing is rounded. */
export function picoOf(usd: string): bigint {
  const [whole = '0', fraction = ''] = usd.replace('-', '').split('.');
  const pico = BigInt(whole) * picoPerUsd + BigInt(fraction.padEnd(12, '0').slice(0, 12));
  return usd.startsWith('-') ? -pico : pico;
}

const picoPerUsd = 1_000_000_000_000n;

/** The exact decimal text of picodollars, without trailing zeros. */
export function usdOf(pico: bigint): string {
  const size = pico < 0n ? -pico : pico;
  const fraction = String(size % picoPerUsd)
    .padStart(12, '0')
    .replace(/0+$/, '');
  const sign = pico < 0n ? '-' : '';
  return `${sign}${size / picoPerUsd}${fraction === '' ? '' : `.${fraction}`}`;
}

/** The spent share of an amount, in hundredths of a percent, rounded down; `undefined` for an amount of 0. */
export function shareBps(spendUsd: string, amountUsd: string): number | undefined {
  const amount = picoOf(amountUsd);
  return amount === 0n ? undefined : Number((picoOf(spendUsd) * 10_000n) / amount);
}

/** “79.3 %”. */
export const percentText = (bps: number): string =>
  `${grouped(Math.floor(bps / 100))}.${Math.floor((bps % 100) / 10)} %`;

const maxAmount10000 = 2n ** 53n - 1n;

/** A typed amount in units of 1/10000 USD, or what is wrong with it. */
export function amount10000Of(text: string): { readonly amount: number } | { readonly fault: string } {
  const typed = text.trim();
  const [, whole, fraction = ''] = /^(\d{1,12})(?:\.(\d*))?$/.exec(typed) ?? [];
  if (whole === undefined)
    return { fault: 'Type an amount in USD without separators, such as 1500 or 12.5.' };
  if (/[1-9]/.test(fraction.slice(4)) || fraction.length > 12)
    return { fault: 'An amount has at most four digits after the decimal point.' };
  const amount = BigInt(whole) * 10_000n + BigInt(fraction.slice(0, 4).padEnd(4, '0'));
  if (amount > maxAmount10000)
    return { fault: `The largest amount is ${usdOf(maxAmount10000 * picoPer10000)} USD.` };
  // At most 2^53 − 1: exact as a number.
  return { amount: Number(amount) };
}

const picoPer10000 = 100_000_000n;

export const usdOf10000 = (amount: number): string => usdOf(BigInt(amount) * picoPer10000);
