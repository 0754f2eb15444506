import type { Compatibility } from '../routing/model.ts';
import { changesOf, type BodyEdit, noChanges } from './chat-body.ts';

type Numbers = Readonly<Record<string, number | undefined>>;

/** `compatibility.router.provider`, with the names of the configuration file, which are also those sent upstream. */
export interface RouterPreferences {
  readonly zdr?: boolean | undefined;
  readonly only?: readonly string[] | undefined;
  readonly ignore?: readonly string[] | undefined;
  readonly order?: readonly string[] | undefined;
  readonly preferred_max_latency?: number | Numbers | undefined;
  readonly max_price?: Numbers | undefined;
}

/**
 * Writes `provider` into the upstream chat-completions body. A caller's own `provider` is replaced as a whole: whom the
 * route may reach, and at what price, is the operator's decision.
 */
export function routerEdit({ router }: Compatibility): BodyEdit {
  const provider = router?.['provider'];
  const changes = provider === undefined ? noChanges : changesOf(['provider', provider]);
  return () => changes;
}

/** An error in preferences that have the right shape. `path` begins below `provider`. */
export interface RouterProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/**
 * The gateway rejects empty values, duplicate slugs and contradictory `only`/`ignore` entries; slugs that differ only
 * in case are the same. Whether a slug exists is left to the upstream. So is an `order` that the other lists do not
 * allow: it is only a preference.
 */
export const routerProblems = (preferences: RouterPreferences): readonly RouterProblem[] =>
  rules.flatMap((rule) => rule(preferences));

type Rule = (preferences: RouterPreferences) => readonly RouterProblem[];

const emptyValues: Rule = (preferences) =>
  isEmpty(preferences)
    ? [{ path: [], message: 'is empty: name a preference, or leave the block out' }]
    : Object.entries(preferences)
        .filter(([, value]) => isEmpty(value))
        .map(([key]) => ({ path: [key], message: 'is empty: fill it in, or leave it out' }));

const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.values(value).every((inner) => inner === undefined);

const duplicateSlugs: Rule = (preferences) =>
  lists.flatMap((list) => {
    const slugs = folded(preferences[list]);
    return slugs.flatMap((slug, index) =>
      slugs.indexOf(slug) < index
        ? [{ path: [list, index], message: `\`${slug}\` is there already, further up` }]
        : [],
    );
  });

const contradictions: Rule = ({ only, ignore }) => {
  const allowed = new Set(folded(only));
  return folded(ignore).flatMap((slug, index) =>
    allowed.has(slug) ? [{ path: ['ignore', index], message: `contradicts \`${slug}\` in \`only\`` }] : [],
  );
};

const lists = ['only', 'ignore', 'order'] as const;

const folded = (slugs: readonly string[] = []): readonly string[] => slugs.map((slug) => slug.toLowerCase());

const rules: readonly Rule[] = [emptyValues, duplicateSlugs, contradictions];
