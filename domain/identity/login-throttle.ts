/** Failures are forgotten this long after the first of them. */
export const throttleWindowMs = 15 * 60_000;

/** Tries of one account from one address in a window: more than anybody needs who knows the password. */
export const maxTriesHere = 10;

/** Tries of one account, from anywhere, that wait for nothing: typing errors. */
const freeTries = 5;

/** The first wait; it doubles with each try. */
const firstDelayMs = 100;

/** The longest wait: whoever knows the password still gets in while others guess. */
const maxDelayMs = 2_000;

/** How often a login was tried in the window, this try among them. Successes are not counted. */
export interface LoginTries {
  /** For this account from this address. */
  readonly here: number;
  /** For this account from any address. */
  readonly anywhere: number;
  /** When the window of `here` began. */
  readonly firstHereAt: number;
  readonly now: number;
}

export type ThrottleVerdict =
  | { readonly kind: 'refused'; readonly retryAfterSecs: number }
  | { readonly kind: 'admitted'; readonly delayMs: number };

/**
 * Failed logins are throttled per account and address; per account alone they are only delayed, so that nobody can
 * lock an admin out by guessing from elsewhere.
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
