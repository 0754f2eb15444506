import {
  isObject,
  isAbsent,
  isString,
  type Json,
  type JsonObject,
  numberOf,
} from '../../../domain/shared/json.ts';
import { maxTranslatedToolCalls } from '../../../domain/shared/limits.ts';
import { ownMetadata, reasoningBlock } from './unified-metadata.ts';

/** A block that was started: a call of one of the caller's tools, or a block that chat has no equivalent of. */
type Started =
  | { readonly kind: 'call'; readonly index: number; argued: boolean }
  | { readonly kind: 'foreign' };

/** Deltas of a chat stream; `undefined` when the event is malformed. */
type Deltas = readonly JsonObject[] | undefined;

/**
 * The content blocks of one streamed answer as chat deltas. Blocks of text and reasoning need no start. Tool calls are
 * numbered from 0 among themselves. Blocks that chat has no equivalent of go into the metadata unchanged.
 */
export class UnifiedBlocks {
  private readonly started = new Map<number, Started>();
  private calls = 0;

  called(): boolean {
    return this.calls > 0;
  }

  start(event: JsonObject): Deltas {
    const at = blockIndex(event);
    const { start } = event;
    if (at === undefined || !isObject(start) || this.started.has(at)) return undefined;
    if (saysNothing(start)) return [];
    if (this.started.size >= maxTranslatedToolCalls) return undefined;
    const { toolUse } = start;
    if (!isObject(toolUse) || isServerTool(toolUse)) {
      if (!isAbsent(toolUse) && !isObject(toolUse)) return undefined;
      this.started.set(at, { kind: 'foreign' });
      return [ownMetadata({ blocks: [{ index: at, start }] })];
    }
    return this.call(at, toolUse);
  }

  private call(at: number, { toolUseId, name }: JsonObject): Deltas {
    if (!isString(toolUseId) || !isString(name) || this.calls >= maxTranslatedToolCalls) return undefined;
    const index = this.calls;
    this.calls += 1;
    this.started.set(at, { kind: 'call', index, argued: false });
    return [callDelta({ index, id: toolUseId, type: 'function', function: { name, arguments: '' } })];
  }

  delta(event: JsonObject): Deltas {
    const at = blockIndex(event);
    const { delta } = event;
    if (at === undefined || !isObject(delta)) return undefined;
    const { text, toolUse, reasoningContent, citation } = delta;
    if (!isAbsent(text)) return isString(text) ? textDeltas(text) : undefined;
    if (!isAbsent(toolUse)) return this.argument(at, toolUse);
    if (!isAbsent(reasoningContent)) return reasoningDeltas(at, reasoningContent);
    return isAbsent(citation) ? foreignDeltas(at, delta) : [ownMetadata({ citations: [citation] })];
  }

  stop(event: JsonObject): Deltas {
    const at = blockIndex(event);
    if (at === undefined) return undefined;
    const block = this.started.get(at);
    this.started.delete(at);
    return block === undefined ? [] : lastArguments(block);
  }

  /** The deltas that are still missing for blocks that were never stopped. */
  rest(): readonly JsonObject[] {
    return [...this.started.values()].flatMap(lastArguments);
  }

  private argument(at: number, toolUse: Json | undefined): Deltas {
    const block = this.started.get(at);
    const input = isObject(toolUse) ? toolUse['input'] : undefined;
    if (!isString(input)) return undefined;
    if (block === undefined) return input === '' ? [] : undefined;
    if (block.kind === 'foreign') return foreignDeltas(at, { toolUse });
    if (input === '') return [];
    block.argued = true;
    return [callDelta({ index: block.index, function: { arguments: input } })];
  }
}

/** Whether a start is empty. Blocks of text and reasoning need none, and may have one without content. */
const saysNothing = ({ reasoningContent, ...rest }: JsonObject): boolean =>
  isEmpty(rest) && (isAbsent(reasoningContent) || (isObject(reasoningContent) && isEmpty(reasoningContent)));

const isEmpty = (object: JsonObject): boolean => Object.keys(object).length === 0;

function blockIndex({ contentBlockIndex }: JsonObject): number | undefined {
  const index = numberOf(contentBlockIndex);
  return index !== undefined && Number.isSafeInteger(index) && index >= 0 ? index : undefined;
}

const callDelta = (call: JsonObject): JsonObject => ({ tool_calls: [call] });

const textDeltas = (text: string): readonly JsonObject[] => (text === '' ? [] : [{ content: text }]);

const foreignDeltas = (index: number, delta: JsonObject): readonly JsonObject[] =>
  Object.keys(delta).length === 0 ? [] : [ownMetadata({ blocks: [{ index, delta }] })];

function reasoningDeltas(index: number, reasoningContent: Json | undefined): Deltas {
  if (!isObject(reasoningContent)) return undefined;
  const piece = reasoningBlock(reasoningContent);
  return piece === undefined ? [] : [ownMetadata({ reasoning: [{ index, ...piece }] })];
}

/** A call that streamed no arguments has none, which chat writes as `{}`. */
const lastArguments = (block: Started): readonly JsonObject[] =>
  block.kind === 'call' && !block.argued
    ? [callDelta({ index: block.index, function: { arguments: '{}' } })]
    : [];

/** A tool that the platform ran itself: its call is not for the caller to answer. */
export const isServerTool = ({ type }: JsonObject): boolean => type === 'server_tool_use';
