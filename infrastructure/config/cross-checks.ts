import * as E from 'fp-ts/lib/Either.js';
import { parseKey } from '../../domain/identity/api-key.ts';
import { isArray, isObject, isString, type Json, type JsonObject } from '../../domain/shared/json.ts';
import { routeCodec } from './model-config.ts';
import { nearest } from '../../domain/shared/nearest.ts';
import { foldEmail, type KeyOwnerConfig, parseOwner } from './owner-config.ts';
import { type Finding, finding, type Path } from './problem.ts';
import { providerCodec } from './provider-config.ts';
import { routeRules } from './route-rules.ts';

/**
 * A rule between sections of the file. It reads the file before it is decoded, so that a fault in one section
 * does not hide those of the others; what is malformed is the codec's business and is passed over.
 */
type Check = (file: JsonObject) => readonly Finding[];

interface Placed<T> {
  readonly path: Path;
  readonly value: T;
}

const itemsOf = ({ path, value }: Placed<Json | undefined>): readonly Placed<Json>[] =>
  isArray(value) ? value.map((item, index) => ({ path: [...path, index], value: item })) : [];

const memberOf = ({ path, value }: Placed<Json>, key: string): Placed<Json | undefined> => ({
  path: [...path, key],
  value: isObject(value) ? value[key] : undefined,
});

const isText = (placed: Placed<Json | undefined>): placed is Placed<string> => isString(placed.value);

/** The text under `key` in each item of a section. */
const textsOf = (items: readonly Placed<Json>[], key: string): readonly Placed<string>[] =>
  items.map((item) => memberOf(item, key)).filter(isText);

const sectionOf = (file: JsonObject, section: string): readonly Placed<Json>[] =>
  itemsOf({ path: [section], value: file[section] });

const namesOf = (file: JsonObject, section: string, key: string): ReadonlySet<string> =>
  new Set(textsOf(sectionOf(file, section), key).map(({ value }) => value));

const folded = ({ path, value }: Placed<string>): Placed<string> => ({ path, value: foldEmail(value) });

/** Every value once; the later ones are to blame. */
function once(what: string, entries: readonly Placed<string>[]): readonly Finding[] {
  const seen = new Set<string>();
  return entries.flatMap(({ path, value }) => {
    const repeated = seen.has(value);
    seen.add(value);
    return repeated ? [finding(path, `${what} is there already, further up`)] : [];
  });
}

const idsAreUnique: Check = (file) => {
  const texts = (section: string, key: string) => textsOf(sectionOf(file, section), key);
  const publicIds = texts('api_keys', 'value').map(({ path, value }) => ({
    path,
    value: parseKey(value)?.publicId,
  }));
  return [
    ...once('this provider id', texts('providers', 'id')),
    ...once('this model id', texts('models', 'id')),
    ...once('this MCP server id', texts('mcp_servers', 'id')),
    ...once('this team id', texts('teams', 'id')),
    ...once('this service account id', texts('service_accounts', 'id')),
    ...once('this address', texts('users', 'email').map(folded)),
    ...once('this key name', texts('api_keys', 'name')),
    ...once('the public id of this key', publicIds.filter(isText)),
  ];
};

const pricesAreUnique: Check = (file) => {
  const overrides = itemsOf(memberOf({ path: ['pricing'], value: file['pricing'] ?? null }, 'overrides'));
  const pairs = overrides.map((item) => [memberOf(item, 'provider'), memberOf(item, 'model')] as const);
  return once(
    'a price of this pair',
    pairs.flatMap(([provider, model]) =>
      isText(provider) && isText(model)
        ? [{ path: model.path, value: JSON.stringify([provider.value, model.value]) }]
        : [],
    ),
  );
};

/** Names looked through for a suggestion, and wrong names that get one: more would be slow, not clearer. */
const maxCandidates = 1000;
const maxSuggestions = 100;

/** Each value has to be among the known ones. */
function mustExist(
  what: string,
  entries: readonly Placed<string>[],
  known: ReadonlySet<string>,
): readonly Finding[] {
  const candidates = [...known].slice(0, maxCandidates);
  const hints = new Map<string, string>();
  return entries
    .filter(({ value }) => !known.has(value))
    .map(({ path, value }) => {
      if (!hints.has(value) && hints.size < maxSuggestions) hints.set(value, hintFor(value, candidates));
      return finding(path, `unknown ${what} \`${value}\`${hints.get(value) ?? ''}`);
    });
}

function hintFor(value: string, candidates: readonly string[]): string {
  // A third of its letters: further away it is another name, not a slip.
  const close = nearest(value, candidates, Math.max(2, value.length / 3));
  return close === undefined ? '' : `, did you mean \`${close}\`?`;
}

const teamsExist: Check = (file) => {
  const named = ['service_accounts', 'users'].flatMap((section) => textsOf(sectionOf(file, section), 'team'));
  return mustExist('team', named, namesOf(file, 'teams', 'id'));
};

const keyOwnersExist: Check = (file) => {
  const owners = textsOf(sectionOf(file, 'api_keys'), 'owner').map(({ path, value }) => ({
    path,
    owner: parseOwner(value),
  }));
  const named = (kind: KeyOwnerConfig['kind']): readonly Placed<string>[] =>
    owners.flatMap(({ path, owner }) =>
      owner?.kind === kind ? [{ path, value: owner.kind === 'user' ? owner.email : owner.id }] : [],
    );
  const addresses = new Set([...namesOf(file, 'users', 'email')].map(foldEmail));
  return [
    ...mustExist('user', named('user'), addresses),
    ...mustExist('team', named('team'), namesOf(file, 'teams', 'id')),
    ...mustExist('service account', named('service_account'), namesOf(file, 'service_accounts', 'id')),
  ];
};

const allowedModelsExist: Check = (file) => {
  const named = sectionOf(file, 'api_keys').flatMap((key) => itemsOf(memberOf(key, 'allowed_models')));
  return mustExist('model', named.filter(isText), namesOf(file, 'models', 'id'));
};

const routesOf = (file: JsonObject): readonly Placed<Json>[] =>
  sectionOf(file, 'models').flatMap((model) => itemsOf(memberOf(model, 'routes')));

const routeProvidersExist: Check = (file) =>
  mustExist('provider', textsOf(routesOf(file), 'provider'), namesOf(file, 'providers', 'id'));

const routesFitTheirProviders: Check = (file) => {
  const decoded = sectionOf(file, 'providers').map(({ value }) => providerCodec.decode(value));
  const providers = new Map(
    decoded.flatMap((read) => (E.isRight(read) ? [[read.right.id, read.right] as const] : [])),
  );
  return routesOf(file).flatMap(({ path, value }) => {
    const route = routeCodec.decode(value);
    const provider = E.isRight(route) ? providers.get(route.right.provider) : undefined;
    return E.isRight(route) && provider !== undefined
      ? routeRules.flatMap((rule) => rule(route.right, provider, path))
      : [];
  });
};

/** The address that the provider sends browsers back to is made of it. */
const providersKnowTheWayBack: Check = (file) => {
  const at = (section: string): Placed<Json> => ({ path: [section], value: file[section] ?? null });
  const oidc = memberOf(at('admin_auth'), 'oidc');
  const { value: url } = memberOf(at('server'), 'public_base_url');
  return isObject(oidc.value) && (url === undefined || url === null)
    ? [finding(oidc.path, 'needs server.public_base_url: the provider sends browsers back there')]
    : [];
};

const checks: readonly Check[] = [
  providersKnowTheWayBack,
  idsAreUnique,
  pricesAreUnique,
  teamsExist,
  keyOwnersExist,
  allowedModelsExist,
  routeProvidersExist,
  routesFitTheirProviders,
];

/** What is wrong between sections, each of which may be right in itself. */
export const crossCheck = (file: Json): readonly Finding[] =>
  isObject(file) ? checks.flatMap((check) => check(file)) : [];
