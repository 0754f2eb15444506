/** The kinds of objects that a text search finds. */
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

/** The maximum number of hits of each kind. */
export const mostHits = 8;

export interface Search {
  /** At most {@link mostHits} of each kind: first those whose id is the text, then the newest. */
  readonly find: (text: string) => Promise<readonly Hit[]>;
}
