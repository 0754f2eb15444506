import { configuredTier } from '../../../domain/reasoning/route-tier.ts';
import { isMarked, unmarked } from '../../../domain/messages/cache-marks.ts';
import { isObject, type JsonObject, objectsOf } from '../../../domain/shared/json.ts';
import type { Route } from '../../../domain/routing/model.ts';

/** The members of a converse body that can have a `cachePoint`, with cache marks on their blocks. */
export interface Cacheable {
  readonly system: readonly JsonObject[];
  readonly messages: readonly JsonObject[];
  readonly toolConfig: JsonObject | undefined;
}

/** https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html: checkpoints per request, for any model. */
const maxCachePoints = 4;

/** What a model supports of prompt caching. */
interface CacheRules {
  readonly conversation: boolean;
  readonly tools: boolean;
  /** `ttl: 1h`. Any other lifetime is the default, and is not sent. */
  readonly hour: boolean;
}

const nothing: CacheRules = { conversation: false, tools: false, hour: false };

/**
 * Turns cache marks into `cachePoint` blocks after the marked blocks, where the model takes them. Other marks are
 * removed, since the answer is the same without them. Of more than four, these are kept first: the last on the tools,
 * the last on the system, then those on the messages from the latest backwards, then earlier ones on the system and the
 * tools. A point covers everything before it, and the latest is the one that the next turn can reuse. A point directly
 * after a document whose text the platform extracts is moved before the document.
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
 * The platform rejects a point directly after an extracted document, and takes one after any other block. The next
 * turn's point covers the document. If nothing precedes the document, or another point does, no point is added.
 */
function addPoint(placed: JsonObject[], point: JsonObject): void {
  let at = placed.length;
  while (isExtracted(placed[at - 1])) at -= 1;
  const before = placed[at - 1];
  if (before !== undefined && before['cachePoint'] === undefined) placed.splice(at, 0, point);
}

/** The model gets PDFs as they are, and of every other document the extracted text. */
const isExtracted = (block: JsonObject | undefined): boolean => {
  const document = block?.['document'];
  return isObject(document) && document['format'] !== 'pdf';
};

function cachePoint({ cache_control: mark }: JsonObject, { hour }: CacheRules): JsonObject {
  const long = hour && isObject(mark) && mark['ttl'] === '1h';
  return { cachePoint: { type: 'default', ...(long ? { ttl: '1h' } : {}) } };
}

/** Models of the messages family from before prompt caching: the platform rejects requests to them that have points. */
const withoutCaching = /claude-(?:v2|2|instant|3-(?:opus|sonnet|haiku)|3-5-sonnet-20240620)(?![a-z])/;

/** The version in an id of the messages family, in the format since version 4. */
const version = /claude-[a-z]+-(\d{1,2})(?:[-.](\d{1,2}))?(?![a-z0-9])/;

/**
 * What the platform documents: models of the messages family take points everywhere, and since version 4.5 also points
 * that last an hour. Nova models take none on tools. If the id shows no family, the route's `model_tier` decides.
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
