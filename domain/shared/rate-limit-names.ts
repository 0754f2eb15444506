/**
 * The kinds of subject that can have a rate limit. A service account has none of its own: its requests count as its
 * team's.
 */
export const subjectKinds = ['api_key', 'user', 'team', 'model'] as const;
export type SubjectKind = (typeof subjectKinds)[number];

/** What a limit counts. Of several full measures of one limit that have the same wait, a refusal names the first. */
export const measures = ['requests', 'tokens', 'in_flight'] as const;
export type Measure = (typeof measures)[number];
