/** What a browser says about the origin of a call. */
export interface CallOrigin {
  readonly method: string;
  readonly secFetchSite: string | undefined;
  readonly origin: string | undefined;
  readonly hasCookie: boolean;
}

/** Methods that change nothing; calls with any other method change state. */
const safeMethods: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

export const changesState = (method: string): boolean => !safeMethods.includes(method);

/**
 * The rule for calls that change state: `Sec-Fetch-Site`, if sent, must be `same-origin`. Without it, `Origin`, if
 * sent, must be the origin of `public_base_url` (else of `Host`). With neither, the call is allowed only without a
 * cookie. Any other call is refused with 403 `cross_origin`.
 */
export function isCrossOrigin(call: CallOrigin, ownOrigin: string | undefined): boolean {
  if (!changesState(call.method)) return false;
  if (call.secFetchSite !== undefined) return call.secFetchSite !== 'same-origin';
  if (call.origin !== undefined) return call.origin !== ownOrigin;
  return call.hasCookie;
}
