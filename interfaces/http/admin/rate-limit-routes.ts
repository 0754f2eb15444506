import * as E from 'fp-ts/lib/Either.js';
import type { LimitUnchanged, RateLimits } from '../../../application/ports/rate-limits.ts';
import type { LimitSubject } from '../../../domain/limits/rate-limit.ts';
import { type SubjectKind, subjectKinds } from '../../../domain/shared/rate-limit-names.ts';
import {
  type AdminCall,
  type AdminFailure,
  type AdminRoute,
  adminRoute,
  conflictWith,
  listRoute,
  notFound,
} from './admin-route.ts';
import { choiceInput, optionalInput } from './inputs.ts';
import { anyId, uuidIn } from './query.ts';
import { limitBody, limitTerms, presentLimit, rateLimit, removedLimit } from './rate-limit-bodies.ts';

export interface RateLimitRoutePorts {
  readonly rateLimits: RateLimits;
}

const root = '/api/v1/admin/rate-limits';

/** How a path names a subject. `idIn` returns `undefined` when no subject can have this id. */
interface Named {
  readonly segment: string;
  readonly param: string;
  readonly what: string;
  readonly idIn: (text: string) => string | undefined;
}

const namedBy: Readonly<Record<SubjectKind, Named>> = {
  api_key: { segment: 'api-keys', param: 'api_key_id', what: 'API key', idIn: uuidIn },
  user: { segment: 'users', param: 'user_id', what: 'user', idIn: uuidIn },
  team: { segment: 'teams', param: 'team_id', what: 'team', idIn: anyId },
  model: { segment: 'models', param: 'model_id', what: 'model', idIn: anyId },
};

/** Rate limits with their current use, and their changes. An identical PUT changes nothing. */
export const rateLimitRoutes = (ports: RateLimitRoutePorts): readonly AdminRoute[] => [
  listRoute({
    path: root,
    summary: 'Rate limits and their current use, by the kind and the id of what is limited.',
    query: { subject_kind: optionalInput(choiceInput(subjectKinds)) },
    item: rateLimit,
    find: async ({ subject_kind }, page) => E.right(await ports.rateLimits.page(subject_kind, page)),
    present: presentLimit,
  }),
  ...subjectKinds.flatMap((kind) => subjectRoutes(ports, kind)),
];

function subjectRoutes({ rateLimits }: RateLimitRoutePorts, kind: SubjectKind): readonly AdminRoute[] {
  const { segment, param, what, idIn } = namedBy[kind];
  const path = `${root}/${segment}/:${param}`;
  const none = notFound(what, param);
  const noneActive = notFound(`active ${what}`, param);
  const subjectIn = (params: AdminCall['params']): LimitSubject | undefined => {
    const id = idIn(params[param] ?? '');
    return id === undefined ? undefined : { kind, id };
  };
  const failed = (why: LimitUnchanged, unknown: AdminFailure): AdminFailure =>
    why.kind === 'unknown_subject'
      ? unknown
      : conflictWith(why.present === undefined ? null : presentLimit(why.present));
  return [
    adminRoute({
      method: 'PUT',
      path,
      summary: `Sets the rate limit of one ${what}, all of it; identical terms change nothing.`,
      body: limitBody,
      isVersioned: true,
      answer: rateLimit,
      errors: ['not_found'],
      handle: async ({ params, body, admin, ifMatch }) => {
        const terms = limitTerms(body);
        if (E.isLeft(terms)) return terms;
        const subject = subjectIn(params);
        if (subject === undefined) return E.left(noneActive);
        const set = await rateLimits.set({ subject, actor: admin, version: ifMatch }, terms.right);
        return E.isLeft(set) ? E.left(failed(set.left, noneActive)) : E.right(presentLimit(set.right));
      },
    }),
    adminRoute({
      method: 'DELETE',
      path,
      summary: `Takes the rate limit of one ${what} away.`,
      isVersioned: true,
      answer: removedLimit,
      errors: ['not_found'],
      handle: async ({ params, admin, ifMatch }) => {
        const subject = subjectIn(params);
        if (subject === undefined) return E.left(none);
        const removed = await rateLimits.remove({ subject, actor: admin, version: ifMatch });
        return E.isLeft(removed)
          ? E.left(failed(removed.left, none))
          : E.right({ subject_kind: kind, subject_id: subject.id, deleted: removed.right.deleted });
      },
    }),
  ];
}
