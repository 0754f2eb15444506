import * as E from 'fp-ts/lib/Either.js';
import { parseKey } from '../../domain/identity/api-key.ts';
import { isArray, isObject, isString, type Json, type JsonObject } from '../../domain/shared/json.ts';
import { routeCodec } from './model-config.ts';
import { nearest } from '../../domain/shared/nearest.ts';
import { foldEmail } from '../../domain/identity/password.ts';
import { type KeyOwnerConfig, parseOwner } from './owner-config.ts';
import { type Finding, finding, type Path } from './problem.ts';
import { providerCodec } from './provider-config.ts';
import { routeRules } from './route-rules.ts';

/**
 * A rule between sections of the file. It reads the file before decoding, so that a fault in one section does not hide
 * those of the others, and skips malformed values, which the codec reports. `written` is the same tree with its
 * placeholders: messages quote from it, because the value of a placeholder may be a secret.
 */
type Check = (file: JsonObject, written: JsonObject) => readonly Finding[];

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

/** The names that may be referred to. */
interface Names {
  readonly known: ReadonlySet<string>;
  /** As written in the file; suggestions come from these. */
  readonly written: ReadonlySet<string>;
}

const folded = ({ path, value }: Placed<string>): Placed<string> => ({ path, value: foldEmail(value) });

/** Values must be unique; the later ones are reported. */
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

/** Names that are searched for a suggestion, and wrong names that get one. More would be slow, but not clearer. */
const maxCandidates = 1000;
const maxSuggestions = 100;

/** References whose values must be among the known names. */
interface Naming {
  readonly what: string;
  readonly entries: readonly Placed<string>[];
  readonly names: Names;
}

function mustExist(written: JsonObject, { what, entries, names }: Naming): readonly Finding[] {
  const candidates = [...names.written].slice(0, maxCandidates);
  const hints = new Map<string, string>();
  return entries
    .filter(({ value }) => !names.known.has(value))
    .map(({ path, value }) => {
      const placeholder = placeholderAt(written, path);
      if (placeholder !== undefined) return finding(path, `unknown ${what} \`${placeholder}\``);
      if (!hints.has(value) && hints.size < maxSuggestions) hints.set(value, hintFor(value, candidates));
      return finding(path, `unknown ${what} \`${value}\`${hints.get(value) ?? ''}`);
    });
}

/** The text at a path, if it has a placeholder. */
export function placeholderAt(written: Json, path: Path): string | undefined {
  const text = path.reduce<Json | undefined>(inside, written);
  return isString(text) && text.includes('${') ? text : undefined;
}

function inside(value: Json | undefined, step: string | number): Json | undefined {
  if (typeof step === 'number') return isArray(value) ? value[step] : undefined;
  return isObject(value) ? value[step] : undefined;
}

function hintFor(value: string, candidates: readonly string[]): string {
  // At a distance beyond a third of its letters it is another name, not a typo.
  const close = nearest(value, candidates, Math.max(2, value.length / 3));
  return close === undefined ? '' : `, did you mean \`${close}\`?`;
}

const idsOf = (file: JsonObject, written: JsonObject, section: string): Names => ({
  known: namesOf(file, section, 'id'),
  written: namesOf(written, section, 'id'),
});

const teamsExist: Check = (file, written) => {
  const entries = ['service_accounts', 'users'].flatMap((section) =>
    textsOf(sectionOf(file, section), 'team'),
  );
  return mustExist(written, { what: 'team', entries, names: idsOf(file, written, 'teams') });
};

const keyOwnersExist: Check = (file, written) => {
  const owners = textsOf(sectionOf(file, 'api_keys'), 'owner').map(({ path, value }) => ({
    path,
    owner: parseOwner(value),
  }));
  const named = (kind: KeyOwnerConfig['kind']): readonly Placed<string>[] =>
    owners.flatMap(({ path, owner }) =>
      owner?.kind === kind ? [{ path, value: owner.kind === 'user' ? owner.email : owner.id }] : [],
    );
  const addresses = (tree: JsonObject) => new Set([...namesOf(tree, 'users', 'email')].map(foldEmail));
  const users = { known: addresses(file), written: addresses(written) };
  const ids = (section: string): Names => idsOf(file, written, section);
  const owned: readonly Naming[] = [
    { what: 'user', entries: named('user'), names: users },
    { what: 'team', entries: named('team'), names: ids('teams') },
    { what: 'service account', entries: named('service_account'), names: ids('service_accounts') },
  ];
  return owned.flatMap((naming) => mustExist(written, naming));
};

const allowedModelsExist: Check = (file, written) => {
  const named = sectionOf(file, 'api_keys').flatMap((key) => itemsOf(memberOf(key, 'allowed_models')));
  const models = idsOf(file, written, 'models');
  return mustExist(written, { what: 'model', entries: named.filter(isText), names: models });
};

const routesOf = (file: JsonObject): readonly Placed<Json>[] =>
  sectionOf(file, 'models').flatMap((model) => itemsOf(memberOf(model, 'routes')));

const routeProvidersExist: Check = (file, written) =>
  mustExist(written, {
    what: 'provider',
    entries: textsOf(routesOf(file), 'provider'),
    names: idsOf(file, written, 'providers'),
  });

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

/** The redirect URL for the provider is built from it. */
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

/** Faults between sections, each of which may be valid by itself. `written` is the file with its placeholders. */
export const crossCheck = (file: Json, written: Json): readonly Finding[] =>
  isObject(file) && isObject(written) ? checks.flatMap((check) => check(file, written)) : [];
