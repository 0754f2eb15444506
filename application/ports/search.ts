/** What can be found by a text. */
export const hitKinds = [
  'user',
  'team',
  'service_account',
  'api_key',
  'model',
  'provider',
  'request_log',
  'mcp_server',
] as const;
export type HitKind = (typeof hitKinds)[number];

export interface Hit {
  readonly kind: HitKind;
  readonly id: string;
  readonly title: string;
  readonly detail: string | undefined;
}

/** So many hits of each kind. */
export const mostHits = 8;

export interface Search {
  /** At most {@link mostHits} of each kind: what the text is the id of comes first, then the newest. */
  readonly find: (text: string) => Promise<readonly Hit[]>;
}
