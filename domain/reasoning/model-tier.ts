/**
 * Family tiers of upstream models that speak the messages body, as the specification's table names them
 * (rules 43.11, 43.12, 43.13, 43.14, 43.15).
 */
export const modelTiers = ['latest', 'previous', 'preview', 'one_older', 'older'] as const;

export type ModelTier = (typeof modelTiers)[number];

/** A family and a version, as far as an id tells them: `opus` and 4.7. */
interface ModelName {
  readonly family: string;
  readonly major: number;
  readonly minor: number;
}

/** Ids that have a name instead of a version. */
const named: readonly { readonly id: RegExp; readonly tier: ModelTier }[] = [
  // https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-adaptive-thinking.html
  { id: /(?:^|[^a-z0-9])claude-mythos-preview(?![a-z0-9])/, tier: 'preview' },
];

/**
 * The first of the latest ones: manual budgets and sampling are gone
 * (https://platform.claude.com/docs/en/about-claude/models/migration-guide), and so they are in Sonnet 5 and Opus 5
 * (https://platform.claude.com/docs/en/build-with-claude/effort) and in Fable 5
 * (https://platform.claude.com/docs/en/models/fable-5/migration-guide).
 */
const firstLatest: ModelName = { family: 'opus', major: 4, minor: 7 };

/** Families and versions whose tier is known; dates and other suffixes make no difference. */
const listed: readonly (ModelName & { readonly tier: ModelTier })[] = [
  { ...firstLatest, tier: 'latest' },
  // https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-adaptive-thinking.html: budgets deprecated.
  { family: 'opus', major: 4, minor: 6, tier: 'previous' },
  { family: 'sonnet', major: 4, minor: 6, tier: 'previous' },
  // https://platform.claude.com/docs/en/build-with-claude/effort: effort, but no adaptive thinking.
  { family: 'opus', major: 4, minor: 5, tier: 'one_older' },
];

/**
 * The tier of an upstream model id, bare or inside a longer one: `anthropic/…`, `us.anthropic.…`, an ARN, a profile's
 * name; `@20260416`, `-v1:0` and their like may follow. A newer version than that of the first latest one is latest,
 * whatever its family; what does not parse is older.
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

/** Vendors whose models platform B serves and that are no messages family; ids there begin with the vendor. */
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

/** A vendor stands at the front, behind a region (`us.amazon.…`) or at the end of an ARN. */
const otherVendor = new RegExp(`(?:^|[/.])(?:${otherVendors.join('|')})\\.[a-z0-9]`);

/** Whether an id on platform B says that the model is no messages family; what an opaque one names is not known. */
export const isOtherFamily = (upstreamModel: string): boolean =>
  otherVendor.test(upstreamModel.toLowerCase());

/**
 * Whether a model takes messages of the role `system` between the others; those up to the first latest one refuse them
 * (https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages).
 */
export function takesSystemTurns(upstreamModel: string): boolean {
  const model = nameIn(upstreamModel.toLowerCase());
  return model !== undefined && isNewer(model, firstLatest);
}

const isSameVersion = (a: ModelName, b: ModelName): boolean => a.major === b.major && a.minor === b.minor;

const isNewer = (a: ModelName, b: ModelName): boolean =>
  a.major > b.major || (a.major === b.major && a.minor > b.minor);

/** Versions have one or two digits in each place: what is longer is a date. */
const pattern = /(?:^|[^a-z0-9])claude-([a-z]+)-(\d{1,2})(?:[-.](\d{1,2}))?(?![a-z0-9])/;

function nameIn(id: string): ModelName | undefined {
  const found = pattern.exec(id);
  if (found === null) return undefined;
  const [, family = '', major, minor] = found;
  return { family, major: Number(major), minor: Number(minor ?? 0) };
}
