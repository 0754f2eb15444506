import { isUtf8 } from 'node:buffer';
import { readFile, stat } from 'node:fs/promises';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { isObject, type Json, type JsonObject } from '../../domain/shared/json.ts';
import { type GatewayConfig, gatewayCodec, toConfig } from './config.ts';
import { credentialsIn, placeholdersForUpstreams } from './credentials.ts';
import { crossCheck, placeholderAt } from './cross-checks.ts';
import { emptyVariablesIn, interpolate, type SecretFiles, type Variables } from './interpolation.ts';
import { type Persistable, toPersistable } from './persistable.ts';
import {
  type ConfigProblem,
  type Finding,
  findingsOf,
  type Path,
  withoutPosition,
  renderPath,
  sorted,
} from './problem.ts';
import type { Codec } from './scalar-codecs.ts';
import { readSecretFiles } from './secret-files.ts';
import { maskSecrets } from './secrets.ts';
import { databaseCodec } from './database-config.ts';
import { type Environment, environment } from './environment.ts';
import { serverCodec } from './server-config.ts';
import type { Shape } from './shape.ts';
import { type Locate, readYaml, type YamlSource } from './yaml-source.ts';

/** A file that has been read and found valid. */
export interface LoadedConfig {
  readonly config: GatewayConfig;
  readonly persistable: Persistable;
  /** Secrets that are written into the file itself instead of as `${NAME}`. */
  readonly inlineSecrets: readonly Path[];
  /** Every credential of the file and the environment, as texts that must not be stored. */
  readonly credentials: readonly string[];
  /** Whether the file is empty: nothing, a comment, `{}` or `null`. */
  readonly saysNothing: boolean;
  /** The contents of the files that `${file:…}` names. */
  readonly secretFiles: SecretFiles;
  /** Locates a finding: in the file, or in the environment variable that overrides it. */
  readonly place: (finding: Finding) => ConfigProblem;
}

/** 4 MiB fit thousands of models and keys; a larger file is not a configuration. */
const maxFileBytes = 4 * 1024 * 1024;

/** Reads, validates and resolves a file. The error is everything that is wrong with it, in the file's order. */
export async function loadConfig(
  path: string,
  variables: Variables,
): Promise<Either<readonly ConfigProblem[], LoadedConfig>> {
  const text = await readText(path);
  if (E.isLeft(text)) return E.left([withoutPosition('', text.left)]);
  const source = readYaml(text.right, textKeys);
  return E.isLeft(source)
    ? source
    : loadedFrom(source.right, variables, await readSecretFiles(source.right.value));
}

/**
 * The same for `serve`, whose workers and reloads read the file again: a pipe would block its second reader for ever,
 * and with it the shutdown.
 */
export async function loadLastingConfig(
  path: string,
  variables: Variables,
): Promise<Either<readonly ConfigProblem[], LoadedConfig>> {
  const pipe = await stat(path).then(
    (found) => found.isFIFO(),
    () => false, // Reading it reports why.
  );
  return pipe
    ? E.left([withoutPosition('', `${path} is a pipe, which can be read only once: name a file`)])
    : loadConfig(path, variables);
}

async function readText(path: string): Promise<Either<string, string>> {
  try {
    if ((await stat(path)).size > maxFileBytes) return E.left(`${path} is larger than 4 MiB`);
    const bytes = await readFile(path);
    if (bytes.length > maxFileBytes) return E.left(`${path} is larger than 4 MiB`);
    return isUtf8(bytes) ? E.right(new TextDecoder().decode(bytes)) : E.left(`${path} is not UTF-8 text`);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === undefined) throw error;
    return E.left(`${path} cannot be read (${code})`);
  }
}

const textKeys = numberTextKeys(gatewayCodec.shape);

/** The same for a text in memory that names no secret files. */
export function parseConfig(
  text: string,
  variables: Variables,
): Either<readonly ConfigProblem[], LoadedConfig> {
  const source = readYaml(text, textKeys);
  return E.isLeft(source) ? source : loadedFrom(source.right, variables, new Map());
}

function loadedFrom(
  { value: raw, locate }: YamlSource,
  variables: Variables,
  files: SecretFiles,
): Either<readonly ConfigProblem[], LoadedConfig> {
  const env = environment(variables);
  const { value: resolved, findings: unset } = interpolate(raw, { variables, files });
  const effective = overridden(resolved, env);
  const decoded = gatewayCodec.decode(effective);
  const malformed = E.isLeft(decoded) ? findingsOf(decoded.left) : [];
  const findings = [unset, malformed, crossCheck(resolved, raw)].reduce(andElsewhere);
  const problems = [
    ...overrideProblems(env),
    ...findings.map((each) => toProblem(namingEmpty(each, raw, variables), locate)),
  ];
  if (E.isLeft(decoded) || problems.length > 0) return E.left(sorted(problems));
  const config = toConfig(decoded.right, env.dataDir);
  const masked = maskSecrets(gatewayCodec.shape, raw, resolved);
  return E.right({
    config,
    persistable: toPersistable(masked.value, config),
    inlineSecrets: masked.inline,
    saysNothing: isObject(raw) && Object.keys(raw).length === 0,
    credentials: [
      ...credentialsIn(gatewayCodec.shape, effective),
      ...placeholdersForUpstreams(gatewayCodec.shape, raw, { variables, files }),
      ...(env.adminPassword === undefined ? [] : [env.adminPassword]),
    ],
    secretFiles: files,
    place: (found) => overridingProblem(env, found) ?? toProblem(found, locate),
  });
}

/** Adds later findings only at paths that have none yet: a malformed id, say, is not reported as unknown as well. */
function andElsewhere(found: readonly Finding[], later: readonly Finding[]): readonly Finding[] {
  const places = new Set(found.map(({ path }) => JSON.stringify(path)));
  return [...found, ...later.filter(({ path }) => !places.has(JSON.stringify(path)))];
}

/** Names the empty variable where a value is wrong because of one. */
function namingEmpty(found: Finding, raw: Json, variables: Variables): Finding {
  const [name] = emptyVariablesIn(placeholderAt(raw, found.path) ?? '', variables);
  return name === undefined
    ? found
    : { ...found, message: `${found.message}: the environment variable ${name} is empty` };
}

/** A finding with its path as text, and with its line and column. */
const toProblem = ({ path, of, message }: Finding, locate: Locate): ConfigProblem => ({
  path: renderPath(path),
  ...locate(path, of),
  message,
});

/** Keys under which a number keeps its source text. */
function numberTextKeys(shape: Shape): ReadonlySet<string> {
  const keys = new Set<string>();
  const visit = (each: Shape): void => {
    if (each.kind === 'list') visit(each.of);
    if (each.kind !== 'object') return;
    for (const [key, field] of Object.entries(each.fields)) {
      if (field.shape.kind === 'text' && field.shape.orNumber) keys.add(key);
      visit(field.shape);
    }
  };
  visit(shape);
  return keys;
}

interface Override {
  readonly variable: string;
  readonly section: 'server' | 'database';
  readonly key: string;
  readonly codec: Codec<unknown>;
  readonly valueIn: (env: Environment) => string | undefined;
}

const overrides: readonly Override[] = [
  {
    variable: 'GATEWAY_BIND',
    section: 'server',
    key: 'bind',
    codec: serverCodec,
    valueIn: ({ bind }) => bind,
  },
  {
    variable: 'DATABASE_URL',
    section: 'database',
    key: 'url',
    codec: databaseCodec,
    valueIn: ({ databaseUrl }) => databaseUrl,
  },
];

const faultsIn = (env: Environment, { key, codec, valueIn }: Override): readonly Finding[] => {
  const value = valueIn(env);
  const read = value === undefined ? E.right(undefined) : codec.decode({ [key]: value });
  return E.isLeft(read) ? findingsOf(read.left) : [];
};

/** The problem of a finding whose value comes from the environment. */
function overridingProblem(env: Environment, { path, message }: Finding): ConfigProblem | undefined {
  const override = overrides.find(
    ({ section, key, valueIn }) => renderPath(path) === `${section}.${key}` && valueIn(env) !== undefined,
  );
  return override === undefined ? undefined : withoutPosition(override.variable, message);
}

const overrideProblems = (env: Environment): readonly ConfigProblem[] =>
  overrides.flatMap((override) =>
    faultsIn(env, override).map(({ message }) => withoutPosition(override.variable, message)),
  );

/** The file with the values from the environment in place of its own, where they are valid. */
const overridden = (file: Json, env: Environment): Json =>
  overrides.reduce<Json>((changed, override) => {
    const value = override.valueIn(env);
    return value === undefined || faultsIn(env, override).length > 0
      ? changed
      : withMember(changed, override.section, override.key, value);
  }, file);

function withMember(file: Json, section: string, key: string, value: string): Json {
  if (!isObject(file)) return file;
  const present = file[section] ?? {};
  if (!isObject(present)) return file;
  const changed: JsonObject = { ...present, [key]: value };
  return { ...file, [section]: changed };
}
