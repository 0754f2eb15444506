import type { Json } from '../../domain/shared/json.ts';
import { gatewayCodec } from './config.ts';
import { restartKeys } from './restart-keys.ts';
import type { FieldShape, NumberShape, Shape, TaggedShape } from './shape.ts';

/** One key of the file, as a table row. */
interface Row {
  /** The path from the section on, such as `models[].routes[].priority`. */
  readonly path: string;
  readonly field: FieldShape;
  /** The cases of a tagged object that have the key, such as `type: compat`; empty where all have it. */
  readonly only: readonly string[];
}

const head = `# Configuration

<!-- Written by \`npm run schema\` from the codecs in infrastructure/config: change sentences there. -->

Every key of \`gateway.yaml\`: its path, the values it takes, its default, and its meaning. [\`config/example.yaml\`](../config/example.yaml) shows them in a file; [\`config/gateway.schema.json\`](../config/gateway.schema.json) is the same as a JSON Schema for editors.

- \`npx gateway check-config gateway.yaml\` validates a file, including the rules between keys, and warns about settings that are probably not intended.
- In any value \`\${NAME}\` stands for an environment variable, and \`\${file:/run/secrets/name}\` for the content of a file ([secrets](operations.md#secrets)). \`$\${\` stands for a literal \`\${\`.
- \`GATEWAY_CONFIG\` is the path of the file; \`DATABASE_URL\` and \`GATEWAY_BIND\` override it ([commands](../README.md#commands)).
- An unknown key is an error. A key without a value counts as left out.
- A reload applies every key except these, which need a restart: ${Object.keys(restartKeys)
  .map((key) => `\`${key}\``)
  .join(
    ', ',
  )}. For \`server.tls\` and \`server.admin_tls\`, only adding or removing them needs a restart; the files that they name are reloaded.
- \`[]\` in a path stands for each item of a list. **required** applies where the enclosing object is present. \`–\` means no default, unless the meaning names one.
`;

/** The exact text of `docs/configuration.md`; a test compares the committed file with it. */
export function configPage(): string {
  const { shape } = gatewayCodec;
  if (shape.kind !== 'object') throw new TypeError('a configuration is an object');
  const sections = Object.entries(shape.fields).map(([key, field]) => {
    const rows = rowsBelow(key, field.shape, []);
    return `\n## ${key}\n\n${prose(field.doc)} ${sectionNote(field)}\n\n${tableOf(rows)}`;
  });
  return `${head}${sections.join('')}`;
}

function sectionNote({ presence, shape }: FieldShape): string {
  const form = shape.kind === 'list' ? `A list of at most ${count(shape.maxItems)}` : 'An object';
  return `${form}${presence.kind === 'optional' ? '; may be left out' : ''}.`;
}

const tableOf = (rows: readonly Row[]): string =>
  [
    '| Key | Takes | Default | Meaning |',
    '|---|---|---|---|',
    ...rows.map(
      ({ path, field, only }) =>
        `| \`${path}\` | ${takes(field.shape)} | ${defaultOf(field)} | ${caseOf(only)}${prose(field.doc)} |`,
    ),
    '',
  ].join('\n');

const caseOf = (only: readonly string[]): string =>
  only.length === 0 ? '' : `With ${only.map((each) => `\`${each}\``).join(', ')}: `;

/** The keys below a value, in the order of the codec. */
function rowsBelow(path: string, shape: Shape, only: readonly string[]): readonly Row[] {
  switch (shape.kind) {
    case 'list':
      return rowsBelow(`${path}[]`, shape.of, only);
    case 'scalar-or-object':
      return rowsBelow(path, shape.object, only);
    case 'object':
      return Object.entries(shape.fields).flatMap(([key, field]) => rowsOf(`${path}.${key}`, field, only));
    case 'tagged':
      return taggedRows(path, shape, only);
    case 'text':
    case 'number':
    case 'boolean':
    case 'choice':
    case 'headers':
    case 'json-object':
      return [];
  }
}

const rowsOf = (path: string, field: FieldShape, only: readonly string[]): readonly Row[] => [
  { path, field, only },
  ...rowsBelow(path, field.shape, only),
];

/** A key of some cases of a tagged object. Cases whose key is alike share one row. */
interface SharedField {
  readonly key: string;
  readonly field: FieldShape;
  readonly words: readonly string[];
}

const isAlike = (left: FieldShape, right: FieldShape): boolean =>
  left.doc === right.doc &&
  left.shape === right.shape &&
  JSON.stringify(left.presence) === JSON.stringify(right.presence);

const sharedFields = (cases: TaggedShape['cases']): readonly SharedField[] =>
  Object.entries(cases).reduce<readonly SharedField[]>(
    (told, [word, { fields }]) =>
      Object.entries(fields).reduce((all, [key, field]) => {
        const at = all.findIndex((each) => each.key === key && isAlike(each.field, field));
        return at === -1
          ? [...all, { key, field, words: [word] }]
          : all.with(at, { key, field, words: [...(all[at]?.words ?? []), word] });
      }, told),
    [],
  );

function taggedRows(path: string, { tag, doc, cases }: TaggedShape, only: readonly string[]): readonly Row[] {
  const words = Object.keys(cases);
  const field = { doc, presence: { kind: 'required' }, shape: { kind: 'choice', values: words } } as const;
  const rows = sharedFields(cases).flatMap((each) => {
    const inSome = each.words.length < words.length;
    const cases = inSome ? [...only, `${tag}: ${each.words.join(', ')}`] : only;
    return rowsOf(`${path}.${each.key}`, each.field, cases);
  });
  return [{ path: `${path}.${tag}`, field, only }, ...rows];
}

/** The values that a key takes, with their bounds. */
function takes(shape: Shape): string {
  switch (shape.kind) {
    case 'text':
      return prose(`${shape.what}; at most ${count(shape.maxLength)} characters`);
    case 'number':
      return rangeOf(shape);
    case 'boolean':
      return '`true` or `false`';
    case 'choice':
      return `one of ${shape.values.map((value) => `\`${value}\``).join(', ')}`;
    case 'list':
      return `list of at most ${count(shape.maxItems)}${itemsOf(shape.of)}`;
    case 'headers':
      return `names and values of at most ${count(shape.maxEntries)} headers`;
    case 'json-object':
      return 'any object';
    case 'object':
    case 'tagged':
      return 'object';
    case 'scalar-or-object':
      return `${takes(shape.scalar)}; or an object`;
  }
}

const rangeOf = ({ integer, minimum, maximum }: NumberShape): string =>
  `${integer ? 'integer' : 'number'}, ${count(minimum)} to ${count(maximum)}`;

/** The keys of objects have rows of their own. */
const itemsOf = (shape: Shape): string =>
  shape.kind === 'object' || shape.kind === 'tagged' ? '' : `: ${takes(shape)}`;

function defaultOf({ presence, shape }: FieldShape): string {
  if (presence.kind === 'required') return '**required**';
  if (presence.kind === 'optional') return '–';
  return shape.kind === 'object' && isEmpty(presence.input)
    ? 'that of each key'
    : `\`${JSON.stringify(presence.input)}\``;
}

const isEmpty = (value: Json): boolean => JSON.stringify(value) === '{}';

const count = (value: number): string => new Intl.NumberFormat('en').format(value);

/** A sentence for a table cell. Text outside code spans is escaped, so that it is not taken for markup. */
const prose = (text: string): string =>
  text
    .split(/(`[^`]*`)/)
    .map((part, at) => (at % 2 === 1 ? part : part.replace(/[*<]/g, '\\$&')).replaceAll('|', '\\|'))
    .join('');
