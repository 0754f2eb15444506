/** What a browser says of where a call comes from. */
export interface CallOrigin {
  readonly method: string;
  readonly secFetchSite: string | undefined;
  readonly origin: string | undefined;
  readonly hasCookie: boolean;
}

/** Methods that change nothing; every other one is a state-changing call. */
const safeMethods: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

export const changesState = (method: string): boolean => !safeMethods.includes(method);

/**
 * State-changing calls: `Sec-Fetch-Site`, if sent, is `same-origin`; else `Origin`, if sent, equals the origin of
 * `public_base_url` (else of `Host`); neither: allowed only without a cookie; otherwise 403 `cross_origin`.
 */
export function isCrossOrigin(call: CallOrigin, ownOrigin: string | undefined): boolean {
  if (!changesState(call.method)) return false;
  if (call.secFetchSite !== undefined) return call.secFetchSite !== 'same-origin';
  if (call.origin !== undefined) return call.origin !== ownOrigin;
  return call.hasCookie;
}
