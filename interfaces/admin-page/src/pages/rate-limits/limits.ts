import { api, type ResponseData, read } from '../../api/client.ts';
import { ownerWords } from '../../api/owners.ts';

export type Limit = ResponseData<'/api/v1/admin/rate-limits'>['items'][number];
export type SubjectKind = Limit['subject_kind'];
/** The subject of a limit. */
export type Subject = Pick<Limit, 'subject_kind' | 'subject_id'>;

export const measures = ['requests_per_minute', 'tokens_per_minute', 'requests_in_flight'] as const;
export type Measure = (typeof measures)[number];
/** `null`: not limited. */
export type LimitTerms = Readonly<Record<Measure, number | null>>;

export const measureTitles: Readonly<Record<Measure, string>> = {
  requests_per_minute: 'Requests per minute',
  tokens_per_minute: 'Tokens per minute',
  requests_in_flight: 'Requests in flight',
};

export const kindNames: Readonly<Record<SubjectKind, string>> = {
  ...ownerWords,
  api_key: 'key',
  model: 'model',
};

export const subjectKinds: readonly SubjectKind[] = ['api_key', 'user', 'team', 'model'];

export const limitsKey = ['rate-limits'] as const;

export const keyOf = ({ subject_kind: kind, subject_id: id }: Subject): string => `${kind}:${id}`;
export const nameOf = (limit: Limit): string => limit.subject_name ?? limit.subject_id;

/** The current use of a measure. */
export const takenOf = (limit: Limit, measure: Measure): number =>
  ({
    requests_per_minute: limit.current_window.requests,
    tokens_per_minute: limit.current_window.tokens,
    requests_in_flight: limit.in_flight,
  })[measure];

const root = '/api/v1/admin/rate-limits';
const ifMatch = (version: string | undefined) => (version === undefined ? {} : { 'If-Match': version });

/** Sets the whole limit. `version` is the value of `If-Match`; `undefined` replaces whatever is there. */
export function setLimit(
  { subject_kind: kind, subject_id: id }: Subject,
  body: LimitTerms,
  version?: string,
) {
  const header = ifMatch(version);
  switch (kind) {
    case 'api_key':
      return read(
        api.PUT(`${root}/api-keys/{api_key_id}`, { params: { path: { api_key_id: id }, header }, body }),
      );
    case 'user':
      return read(api.PUT(`${root}/users/{user_id}`, { params: { path: { user_id: id }, header }, body }));
    case 'team':
      return read(api.PUT(`${root}/teams/{team_id}`, { params: { path: { team_id: id }, header }, body }));
    case 'model':
      return read(api.PUT(`${root}/models/{model_id}`, { params: { path: { model_id: id }, header }, body }));
  }
}

/** Removes a limit. */
export function removeLimit({ subject_kind: kind, subject_id: id }: Subject, version: string) {
  const header = ifMatch(version);
  switch (kind) {
    case 'api_key':
      return read(
        api.DELETE(`${root}/api-keys/{api_key_id}`, { params: { path: { api_key_id: id }, header } }),
      );
    case 'user':
      return read(api.DELETE(`${root}/users/{user_id}`, { params: { path: { user_id: id }, header } }));
    case 'team':
      return read(api.DELETE(`${root}/teams/{team_id}`, { params: { path: { team_id: id }, header } }));
    case 'model':
      return read(api.DELETE(`${root}/models/{model_id}`, { params: { path: { model_id: id }, header } }));
  }
}
