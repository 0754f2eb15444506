import { chatChunk, providerMetadata, writtenChunk } from '../../../domain/chat/chat-envelope.ts';
import type { ChatEvent } from '../../../domain/chat/chat-stream.ts';
import {
  isAbsent,
  isArray,
  isString,
  type Json,
  type JsonObject,
  membersOf,
  numberOf,
  objectsOf,
  parseExactObject,
} from '../../../domain/shared/json.ts';
import { laterUsage } from '../../../domain/messages/observe-messages.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { maxTranslatedToolCalls } from '../../../domain/shared/limits.ts';
import type { TextFrame } from '../../../domain/shared/text-frame.ts';
import type { Ending, StreamMachine } from '../../../domain/shared/stream-machine.ts';
import { prematureEnd, streamFailure } from '../../../domain/upstream/upstream-fault.ts';
import { failureInStream } from '../../../domain/upstream/upstream-words.ts';
import { anotherMessageError, startsAnotherMessage } from './beginning.ts';
import { isMalformed } from './event-shape.ts';
import { type MessagesFrame, readEvent } from './event.ts';
import { finishReason } from './finish.ts';
import { answerParts, explanationOf, type NativeParts } from './metadata.ts';
import type { AnswerTerms } from './response.ts';
import { chatUsage } from './usage.ts';

/**
 * A messages stream as canonical chat chunks: the role, then text, calls and native parts as they arrive, the finish
 * reason, one usage chunk, and `done` after `message_stop`. An `error` event, a malformed event, and an end before the
 * stop reason are failures. After a stop reason the answer is complete, even if the connection breaks.
 */
export const chatFromMessages = (terms: AnswerTerms): StreamMachine<Translation, TextFrame, ChatEvent> => ({
  start: () => new Translation(terms),
  step: (translation, frame) => [translation, translation.see(frame)],
  end: (translation, ending) => translation.end(ending),
});

/** An open content block. Blocks of text and thinking need no state. */
type Block =
  | {
      readonly kind: 'call';
      readonly ordinal: number;
      readonly input: Json | undefined;
      hasArguments: boolean;
    }
  | { readonly kind: 'foreign' };

/** A member of an event as it is copied, with every digit of its numbers. */
const exactMember = (data: string, key: string): JsonObject => membersOf(parseExactObject(data)[key]);

/** The translation of one answer. It changes as events are read. */
class Translation {
  private readonly terms: AnswerTerms;
  private phase: 'new' | 'begun' | 'finished' | 'over' = 'new';
  private readonly open = new Map<number, Block>();
  private calls = 0;
  private usage: Json | undefined;
  /** Whether the usage is more than the placeholder of `message_start`. */
  private finalUsage = false;
  /** Members that describe the answer as a whole, and have no equivalent in chat. */
  private parts: JsonObject = {};
  /** The message of `message_start`; `undefined` before that event. */
  private message: JsonObject | undefined;
  private events: ChatEvent[] = [];

  constructor(terms: AnswerTerms) {
    this.terms = terms;
  }

  see(frame: TextFrame): readonly ChatEvent[] {
    if (this.phase === 'over') return [];
    const event = readEvent(frame, this.terms.sanitise);
    if (event.kind === 'end') return this.end({ kind: 'eof' });
    if (event.kind === 'fault') this.failed(failureInStream(event));
    else if (event.kind === 'event') this.read(event);
    return this.take();
  }

  end(ending: Ending): readonly ChatEvent[] {
    if (this.phase === 'over') return [];
    if (this.phase === 'finished') this.complete();
    else this.failed(prematureEnd(ending));
    return this.take();
  }

  private take(): readonly ChatEvent[] {
    const { events } = this;
    this.events = [];
    return events;
  }

  private read({ type, value, data }: Extract<MessagesFrame, { kind: 'event' }>): void {
    if (isMalformed(type, value)) return this.fail('The upstream sent a malformed event.');
    this.begin();
    const { delta, usage } = value;
    const index = numberOf(value['index']) ?? 0;
    switch (type) {
      case 'message_start':
        return this.readStart(exactMember(data, 'message'));
      case 'content_block_start':
        return this.openBlock(index, exactMember(data, 'content_block'));
      case 'content_block_delta':
        return this.readDelta(index, membersOf(delta), data);
      case 'content_block_stop':
        return this.closeBlock(index);
      case 'message_delta':
        this.useFinal(usage);
        return this.readEnd(parseExactObject(data));
      case 'message_stop':
        this.readEnd({ delta: this.message });
        return this.complete();
    }
  }

  /** A message that continues with calls of earlier code may start complete: its stop reason is read at its end. */
  private readStart(message: JsonObject): void {
    if (this.message !== undefined) {
      if (startsAnotherMessage(message, this.message)) this.fail(anotherMessageError);
      return;
    }
    this.message = message;
    this.usage = laterUsage(this.usage, message['usage']);
    this.learn(message);
    for (const [index, block] of objectsOf(message['content']).entries()) {
      if (this.phase === 'over') return;
      this.openBlock(index, block);
      this.closeBlock(index);
    }
  }

  private readEnd(event: JsonObject): void {
    const delta = membersOf(event['delta']);
    this.learn(event);
    this.learn(delta);
    const refusal = explanationOf(delta);
    if (refusal !== undefined && this.phase === 'begun') this.delta({ refusal });
    this.stopBy(delta['stop_reason']);
  }

  private learn(from: JsonObject): void {
    this.parts = { ...this.parts, ...answerParts(from) };
  }

  private useFinal(usage: Json | undefined): void {
    this.usage = laterUsage(this.usage, usage);
    this.finalUsage ||= !isAbsent(usage);
  }

  private begin(): void {
    if (this.phase !== 'new') return;
    this.phase = 'begun';
    this.delta({ role: 'assistant', content: '' });
  }

  private openBlock(index: number, block: JsonObject): void {
    this.closeBlock(index);
    const { type, text, thinking, signature, citations } = block;
    switch (isString(type) ? type : '') {
      case 'text':
        this.say(text);
        if (isArray(citations)) this.native({ citations });
        return;
      case 'thinking':
        this.think(index, { thinking });
        this.think(index, { signature });
        return;
      case 'redacted_thinking':
        return this.native({ reasoning: [{ index, ...block }] });
      case 'tool_use':
        return this.call(index, block);
      default:
        return this.foreign(index, block);
    }
  }

  private foreign(index: number, block: JsonObject): void {
    if (this.open.size >= maxTranslatedToolCalls)
      return this.fail('The upstream sent too many content blocks at once.');
    this.open.set(index, { kind: 'foreign' });
    this.native({ blocks: [{ index, content_block: block }] });
  }

  private call(index: number, { id, name, input }: JsonObject): void {
    if (this.calls >= maxTranslatedToolCalls)
      return this.fail('The upstream sent too many tool calls in one answer.');
    const ordinal = this.calls;
    this.calls += 1;
    this.open.set(index, { kind: 'call', ordinal, input, hasArguments: false });
    this.delta({
      tool_calls: [{ index: ordinal, id, type: 'function', function: { name, arguments: '' } }],
    });
  }

  private readDelta(index: number, delta: JsonObject, data: string): void {
    const block = this.open.get(index);
    const { type, text, thinking, signature, partial_json: json } = delta;
    if (block?.kind !== 'foreign') {
      if (type === 'text_delta') return this.say(text);
      if (type === 'thinking_delta') return this.think(index, { thinking });
      if (type === 'signature_delta') return this.think(index, { signature });
      if (type === 'input_json_delta') return this.readArguments(block, json);
    }
    const exact = exactMember(data, 'delta');
    if (type === 'citations_delta' && !isAbsent(exact['citation']))
      return this.native({ citations: [exact['citation']] });
    this.native({ blocks: [{ index, delta: exact }] });
  }

  /** Arguments that belong to no call are malformed: they would be lost silently. */
  private readArguments(block: Extract<Block, { kind: 'call' }> | undefined, text: Json | undefined): void {
    if (block !== undefined) return this.argue(block, text);
    if (isString(text) && text.trim() !== '') this.fail('The upstream sent a malformed event.');
  }

  private argue(block: Extract<Block, { kind: 'call' }>, text: Json | undefined): void {
    if (!isString(text) || text === '') return;
    block.hasArguments ||= text.trim() !== '';
    this.delta({ tool_calls: [{ index: block.ordinal, function: { arguments: text } }] });
  }

  /** A call without arguments gets `{}`. Some upstreams send the whole input at the start of the block. */
  private closeBlock(index: number): void {
    const block = this.open.get(index);
    this.open.delete(index);
    if (block?.kind !== 'call' || block.hasArguments) return;
    this.argue(block, JSON.stringify(isAbsent(block.input) ? {} : block.input));
  }

  private say(text: Json | undefined): void {
    if (isString(text) && text !== '') this.delta({ content: text });
  }

  /** A piece of the thinking block with this index. */
  private think(index: number, piece: JsonObject): void {
    if (Object.values(piece).some((value) => isString(value) && value !== ''))
      this.native({ reasoning: [{ index, type: 'thinking', ...piece }] });
  }

  private native(parts: NativeParts): void {
    const member = providerMetadata(this.terms.namespace, parts);
    if (Object.keys(member).length > 0) this.delta(member);
  }

  private stopBy(stopReason: Json | undefined): void {
    if (isString(stopReason) && stopReason !== '') this.finish(stopReason);
  }

  /** The finish reason is sent once, for the first stop reason. */
  private finish(stopReason: string | undefined): void {
    if (this.phase !== 'begun') return;
    for (const index of this.open.keys()) this.closeBlock(index);
    this.phase = 'finished';
    const reason = finishReason(stopReason, this.calls > 0);
    const members = providerMetadata(this.terms.namespace, this.parts);
    this.emit([{ index: 0, delta: {}, finish_reason: reason }], members, true);
  }

  /** `message_stop` ends an answer even if there was no stop reason. */
  private complete(): void {
    this.finish(undefined);
    const usage = chatUsage(this.usage);
    if (usage !== undefined) this.emit([], { usage }, false);
    this.over({ kind: 'done' });
  }

  private fail(message: string): void {
    this.failed(streamFailure(message));
  }

  /** A failure carries the usage, if that is known. */
  private failed(error: GatewayError): void {
    const usage = this.finalUsage ? chatUsage(this.usage) : undefined;
    const chunk = usage === undefined ? {} : { chunk: this.chunk([], { usage }) };
    this.over({ kind: 'failed', error, ...chunk });
  }

  private over(end: ChatEvent): void {
    this.phase = 'over';
    this.events.push(end);
  }

  private delta(delta: JsonObject): void {
    this.emit([{ index: 0, delta, finish_reason: null }], {}, false);
  }

  private emit(choices: readonly JsonObject[], members: JsonObject, terminal: boolean): void {
    this.events.push(writtenChunk(this.chunk(choices, members), terminal));
  }

  private chunk(choices: readonly JsonObject[], members: JsonObject): JsonObject {
    return chatChunk(this.terms.about, choices, members);
  }
}
