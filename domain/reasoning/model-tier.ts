/**
 * Tiers of the upstream models that speak the messages body, named as in the specification's table (rules 43.11, 43.12,
 * 43.13, 43.14, 43.15).
 */
export const modelTiers = ['latest', 'previous', 'preview', 'one_older', 'older'] as const;

export type ModelTier = (typeof modelTiers)[number];

/** A family and a version as read from an id: `opus` and 4.7. */
interface ModelName extends Version {
  readonly family: string;
}

interface Version {
  readonly major: number;
  readonly minor: number;
}

/** Ids with a name instead of a version. */
const named: readonly { readonly id: RegExp; readonly tier: ModelTier }[] = [
  // https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-adaptive-thinking.html
  { id: /(?:^|[^a-z0-9])claude-mythos-preview(?![a-z0-9])/, tier: 'preview' },
];

/**
 * The first model of the latest tier: it has no manual budgets and no sampling fields
 * (https://platform.claude.com/docs/en/about-claude/models/migration-guide). Sonnet 5 and Opus 5
 * (https://platform.claude.com/docs/en/build-with-claude/effort) and Fable 5
 * (https://platform.claude.com/docs/en/models/fable-5/migration-guide) have none either.
 */
const firstLatest: ModelName = { family: 'opus', major: 4, minor: 7 };

/** Families and versions whose tier is known, whatever date or other suffix follows. */
const listed: readonly (ModelName & { readonly tier: ModelTier })[] = [
  { ...firstLatest, tier: 'latest' },
  // https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-adaptive-thinking.html: budgets deprecated.
  { family: 'opus', major: 4, minor: 6, tier: 'previous' },
  { family: 'sonnet', major: 4, minor: 6, tier: 'previous' },
  // https://platform.claude.com/docs/en/build-with-claude/effort: effort, but no adaptive thinking.
  { family: 'opus', major: 4, minor: 5, tier: 'one_older' },
];

/**
 * The tier of an upstream model id, which may be bare or part of a longer one: `anthropic/…`, `us.anthropic.…`, an ARN,
 * a profile's name; `@20260416`, `-v1:0` and the like may follow. A version newer than that of `firstLatest` is latest,
 * whatever its family. An id that does not parse is older.
 */
export function modelTier(upstreamModel: string): ModelTier {
  const id = upstreamModel.toLowerCase();
  const byName = named.find((each) => each.id.test(id));
  if (byName !== undefined) return byName.tier;
  const model = nameIn(id);
  if (model === undefined) return 'older';
  const known = listed.find((each) => each.family === model.family && isSameVersion(each, model));
  if (known !== undefined) return known.tier;
  return isNewer(model, firstLatest) ? 'latest' : 'older';
}

/** Vendors whose models platform B serves and that are not of the messages family; ids there begin with the vendor. */
const otherVendors = [
  // https://docs.aws.amazon.com/bedrock/latest/userguide/models-supported.html
  'ai21',
  'amazon',
  'cohere',
  'deepseek',
  'google',
  'meta',
  'minimax',
  'mistral',
  'moonshot',
  'moonshotai',
  'nvidia',
  'openai',
  'qwen',
  'stability',
  'twelvelabs',
  'writer',
  'xai',
  'zai',
] as const;

/** The vendor is at the start of the id, after a region (`us.amazon.…`), or at the end of an ARN. */
const otherVendor = new RegExp(`(?:^|[/.])(?:${otherVendors.join('|')})\\.[a-z0-9]`);

/** Whether an id on platform B shows that the model is not of the messages family. An opaque id shows nothing. */
export const isOtherFamily = (upstreamModel: string): boolean =>
  otherVendor.test(upstreamModel.toLowerCase());

/** Models newer than `firstLatest` that refuse messages of the role `system` between the others. */
const withoutSystemTurns: readonly ModelName[] = [{ family: 'sonnet', major: 5, minor: 0 }];

/**
 * Whether a model accepts messages of the role `system` between the others. Models up to `firstLatest` refuse them, and
 * so does Sonnet 5 (https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages, rule
 * 17.67).
 */
export function takesSystemTurns(upstreamModel: string): boolean {
  const model = nameIn(upstreamModel.toLowerCase());
  return (
    model !== undefined &&
    isNewer(model, firstLatest) &&
    !withoutSystemTurns.some((each) => each.family === model.family && isSameVersion(each, model))
  );
}

/** The first models that take strict tools, of any family. */
const firstStrict = { major: 4, minor: 5 };

/** Whether a model takes strict tools. Older ones refuse the field (rule 17.41). */
export function takesStrictTools(upstreamModel: string): boolean {
  const model = nameIn(upstreamModel.toLowerCase());
  return model !== undefined && !isNewer(firstStrict, model);
}

/** What asks a model for no thinking; for one that always thinks, its least effort. */
export type ThinkingOff = 'disabled' | 'between_tools' | 'least_effort';

/**
 * The first models of each family that refuse `thinking.type: disabled`: Fable, Mythos and Opus always think
 * (https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-adaptive-thinking.html,
 * https://platform.claude.com/docs/en/models/opus-5-5/migration-guide), and Sonnet has another word for it
 * (https://platform.claude.com/docs/en/models/sonnet-5-5/migration-guide).
 */
const firstNotDisabled: readonly (ModelName & { readonly off: ThinkingOff })[] = [
  { family: 'fable', major: 5, minor: 0, off: 'least_effort' },
  { family: 'mythos', major: 5, minor: 0, off: 'least_effort' },
  { family: 'opus', major: 5, minor: 5, off: 'least_effort' },
  { family: 'sonnet', major: 5, minor: 5, off: 'between_tools' },
];

/** How a model is asked not to think (rule 16.16). */
export function thinkingOff(upstreamModel: string): ThinkingOff {
  const model = nameIn(upstreamModel.toLowerCase());
  const row = firstNotDisabled.find(
    (first) => model !== undefined && first.family === model.family && !isNewer(first, model),
  );
  return row?.off ?? 'disabled';
}

const isSameVersion = (a: Version, b: Version): boolean => a.major === b.major && a.minor === b.minor;

const isNewer = (a: Version, b: Version): boolean =>
  a.major > b.major || (a.major === b.major && a.minor > b.minor);

/** Each part of a version has one or two digits: a longer number is a date. */
const pattern = /(?:^|[^a-z0-9])claude-([a-z]+)-(\d{1,2})(?:[-.](\d{1,2}))?(?![a-z0-9])/;

function nameIn(id: string): ModelName | undefined {
  const found = pattern.exec(id);
  if (found === null) return undefined;
  const [, family = '', major, minor] = found;
  return { family, major: Number(major), minor: Number(minor ?? 0) };
}
