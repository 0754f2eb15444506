import { configuredTier } from '../../../domain/reasoning/route-tier.ts';
import { isMarked, unmarked } from '../../../domain/messages/cache-marks.ts';
import { isObject, type JsonObject, objectsOf } from '../../../domain/shared/json.ts';
import type { Route } from '../../../domain/routing/model.ts';

/** The members of a converse body in which a `cachePoint` may stand, with cache marks on their blocks. */
export interface Cacheable {
  readonly system: readonly JsonObject[];
  readonly messages: readonly JsonObject[];
  readonly toolConfig: JsonObject | undefined;
}

/** https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html: checkpoints in a request, of any model. */
const maxCachePoints = 4;

/** What a model takes of prompt caching. */
interface CacheRules {
  readonly conversation: boolean;
  readonly tools: boolean;
  /** `ttl: 1h`; every other lifetime is the default, which goes without saying. */
  readonly hour: boolean;
}

const nothing: CacheRules = { conversation: false, tools: false, hour: false };

/**
 * Marks become `cachePoint` blocks behind what they stand on, where the model takes them; elsewhere they go, since the
 * answer is the same without. Of more than four the last of the tools and the last of the system stay, then those of
 * the messages from the latest on, and only then earlier ones of the system and the tools: a point covers all that is
 * before it, and the latest is what the next turn finds again. One that would stand right behind a document whose text
 * the platform extracts stands before it.
 */
export function withCachePoints(
  marked: Cacheable,
  route: Pick<Route, 'upstreamModel' | 'compatibility'>,
): Cacheable {
  const rules = cacheRules(route);
  const kept = keptMarks(marked, rules);
  const expanded = (blocks: readonly JsonObject[]): readonly JsonObject[] => {
    const placed: JsonObject[] = [];
    for (const block of blocks) {
      placed.push(isMarked(block) ? unmarked(block) : block);
      if (kept.has(block)) addPoint(placed, cachePoint(block, rules));
    }
    return placed;
  };
  const { system, messages, toolConfig } = marked;
  return {
    system: expanded(system),
    messages: messages.map((turn) => ({ ...turn, content: expanded(objectsOf(turn['content'])) })),
    toolConfig: toolConfig && { ...toolConfig, tools: expanded(objectsOf(toolConfig['tools'])) },
  };
}

function keptMarks({ system, messages, toolConfig }: Cacheable, rules: CacheRules): ReadonlySet<JsonObject> {
  const tools = rules.tools ? objectsOf(toolConfig?.['tools']).filter(isMarked) : [];
  const front = rules.conversation ? system.filter(isMarked) : [];
  const turns = rules.conversation
    ? messages.flatMap((turn) => objectsOf(turn['content']).filter(isMarked))
    : [];
  const byUse = [
    ...tools.slice(-1),
    ...front.slice(-1),
    ...turns.toReversed(),
    ...front.slice(0, -1).toReversed(),
    ...tools.slice(0, -1).toReversed(),
  ];
  return new Set(byUse.slice(0, maxCachePoints));
}

/**
 * The platform refuses a point right behind such a document, and takes one behind any other block. The next turn's
 * point covers the document. Where nothing stands before it, or another point, there is nothing to add.
 */
function addPoint(placed: JsonObject[], point: JsonObject): void {
  let at = placed.length;
  while (isExtracted(placed[at - 1])) at -= 1;
  const before = placed[at - 1];
  if (before !== undefined && before['cachePoint'] === undefined) placed.splice(at, 0, point);
}

/** PDFs go to the model as they are, and every other document as the text in it. */
const isExtracted = (block: JsonObject | undefined): boolean => {
  const document = block?.['document'];
  return isObject(document) && document['format'] !== 'pdf';
};

function cachePoint({ cache_control: mark }: JsonObject, { hour }: CacheRules): JsonObject {
  const long = hour && isObject(mark) && mark['ttl'] === '1h';
  return { cachePoint: { type: 'default', ...(long ? { ttl: '1h' } : {}) } };
}

/** Models of the messages family that came before caching: the platform refuses a request that asks them for it. */
const withoutCaching = /claude-(?:v2|2|instant|3-(?:opus|sonnet|haiku)|3-5-sonnet-20240620)(?![a-z])/;

/** A version of the messages family, as it is written since 4. */
const version = /claude-[a-z]+-(\d{1,2})(?:[-.](\d{1,2}))?(?![a-z0-9])/;

/**
 * What the platform documents: models of the messages family take points everywhere, since 4.5 also for an hour; Nova
 * models take none among tools. An id that tells no family takes what the route's `model_tier` says of it.
 */
function cacheRules({
  upstreamModel,
  compatibility,
}: Pick<Route, 'upstreamModel' | 'compatibility'>): CacheRules {
  const id = upstreamModel.toLowerCase();
  if (/(?:^|[^a-z0-9])claude-/.test(id))
    return withoutCaching.test(id) ? nothing : { conversation: true, tools: true, hour: knowsHours(id) };
  if (/(?:^|[^a-z0-9])nova-(?!canvas|reel|sonic)/.test(id)) return { ...nothing, conversation: true };
  const tier = configuredTier(compatibility);
  return tier === undefined || tier === 'none'
    ? nothing
    : { conversation: true, tools: true, hour: tier !== 'older' };
}

function knowsHours(id: string): boolean {
  const [, major, minor] = version.exec(id) ?? [];
  return Number(major) > 4 || (Number(major) === 4 && Number(minor) >= 5);
}
