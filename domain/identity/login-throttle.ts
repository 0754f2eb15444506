/** The tries of an account from an address are forgotten this long after the first of them. */
export const throttleWindowMs = 15 * 60_000;

/**
 * Maximum number of tries of one account from one address in a window: more than anyone needs who knows the password.
 */
export const maxTriesHere = 10;

/** Number of tries of one account, from anywhere, that are not delayed: they allow for typing errors. */
const freeTries = 5;

/** The first delay; it doubles with each further try. */
const firstDelayMs = 100;

/** The longest delay, so that someone who knows the password still gets in while others guess. */
const maxDelayMs = 2_000;

/**
 * How often a login was tried in the window, including this try. A success removes the tries of its account and
 * address.
 */
export interface LoginTries {
  /** For this account from this address. */
  readonly here: number;
  /** For this account from any address; each other address counts for at most `maxTriesHere`. */
  readonly anywhere: number;
  /** When the window of `here` began. */
  readonly firstHereAt: number;
  readonly now: number;
}

export type ThrottleVerdict =
  | { readonly kind: 'refused'; readonly retryAfterSecs: number }
  | { readonly kind: 'admitted'; readonly delayMs: number };

/**
 * Tries are refused per account and address. Per account alone they are only delayed, so that nobody can lock an admin
 * out by guessing from elsewhere.
 */
export function throttle({ here, anywhere, firstHereAt, now }: LoginTries): ThrottleVerdict {
  if (here > maxTriesHere) {
    const leftMs = firstHereAt + throttleWindowMs - now;
    return { kind: 'refused', retryAfterSecs: Math.max(1, Math.ceil(leftMs / 1000)) };
  }
  return { kind: 'admitted', delayMs: delayOf(anywhere - 1) };
}

const delayOf = (failures: number): number =>
  failures < freeTries ? 0 : Math.min(maxDelayMs, firstDelayMs * 2 ** (failures - freeTries));
