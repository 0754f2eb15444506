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
export const maxHits = 8;

export interface Search {
  /**
   * At most {@link maxHits} of each kind: first those that the text names, by id (people also by e-mail address, keys
   * by the beginning of theirs), then the newest. Models and providers are ordered by id, MCP servers as in the file.
   */
  readonly find: (text: string) => Promise<readonly Hit[]>;
}
