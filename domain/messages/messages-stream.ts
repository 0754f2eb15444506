import * as E from 'fp-ts/lib/Either.js';
import { type CallPiece, callsOf, legacyCallOf } from '../calls/call-pieces.ts';
import { StreamedCalls } from '../calls/streamed-calls.ts';
import type { ChatEvent } from '../chat/chat-stream.ts';
import { streamedUsage } from '../chat/observe-chat.ts';
import { isAbsent, isString, type Json, type JsonObject, isObject } from '../shared/json.ts';
import { maxTranslatedToolCalls } from '../shared/limits.ts';
import type { Ending, StreamMachine } from '../shared/stream-machine.ts';
import { prematureEnd, streamFailure, withoutMessagesType } from '../upstream/upstream-fault.ts';
import { isMalformedChat } from './answer-shape.ts';
import { BlockWriter, type MessagesEvent } from './block-writer.ts';
import { CallBlock } from './call-block.ts';
import {
  type MessageNames,
  firstChoicePieces,
  messageOf,
  reasoningOf,
  refusalOf,
  textOf,
  untranslatableMessage,
  untranslatableField,
} from './chat-answer.ts';
import { messagesUsage } from './messages-usage.ts';
import { preservedStopReason, stopReason } from './stop-reason.ts';

/**
 * Translates a chat stream to the messages family: `message_start`, blocks one after the other, `message_delta` with
 * the stop reason and the last usage seen, and `message_stop`, which is held back until the ledger row is committed.
 * There is no `[DONE]`. A failure is passed on, a malformed piece is a failure, and an answer broken off by either
 * never looks finished.
 */
export const messagesStream = (
  about: MessageNames,
): StreamMachine<Translation, ChatEvent, MessagesEvent> => ({
  start: () => new Translation(about),
  step: (translation, event) => [translation, translation.see(event)],
  end: (translation, ending) => translation.end(ending),
});

const failed = (message: string): MessagesEvent => ({
  kind: 'failed',
  error: streamFailure(message),
});

const messageStop: MessagesEvent = {
  kind: 'chunk',
  chunk: { type: 'message_stop' },
  wire: undefined,
  terminal: true,
  held: true,
};

/** The state of one answer's translation; it changes with each event. */
class Translation {
  private readonly about: MessageNames;
  private readonly writer: BlockWriter;
  private readonly calls = new StreamedCalls((ordinal) => new CallBlock(ordinal));
  private phase: 'new' | 'begun' | 'over' = 'new';
  private usage: Json | undefined;
  private finish: Json | undefined;
  private preservedStopReason: string | undefined;
  private refused = false;
  private hasChoice = false;
  private hasText = false;
  /** A field of the answer that cannot be translated. */
  private untranslated: string | undefined;

  constructor(about: MessageNames) {
    this.about = about;
    this.writer = new BlockWriter(about);
  }

  see(event: ChatEvent): readonly MessagesEvent[] {
    if (this.phase === 'over') return [];
    if (event.kind === 'failed')
      return this.over([{ kind: 'failed', error: withoutMessagesType(event.error) }]);
    if (event.kind === 'chunk' && isMalformedChat(event.chunk, this.memberOf(event.chunk)))
      return this.over([failed('The upstream sent a malformed event.')]);
    this.begin();
    if (event.kind === 'done') return this.complete();
    this.read(event.chunk);
    const { fault } = this.writer;
    return fault === undefined ? this.writer.take() : this.over([...this.writer.take(), failed(fault)]);
  }

  /** A complete chat stream says how it ended. One that did not was broken off. */
  end(ending: Ending): readonly MessagesEvent[] {
    if (this.phase === 'over') return [];
    return this.over([{ kind: 'failed', error: prematureEnd(ending) }]);
  }

  private over(events: readonly MessagesEvent[]): readonly MessagesEvent[] {
    this.phase = 'over';
    return events;
  }

  private begin(): void {
    if (this.phase !== 'new') return;
    this.phase = 'begun';
    this.writer.emit({ type: 'message_start', message: messageOf(this.about, [], null, undefined) });
  }

  private complete(): readonly MessagesEvent[] {
    const { writer, finish, refused, untranslated, preservedStopReason: kept } = this;
    writer.finish();
    const { called, cutOff } = writer;
    const stop = stopReason(finish, { called, cutOff, refused, kept });
    if (E.isLeft(stop)) return this.over([failed(stop.left)]);
    if (!this.hasChoice) return this.over([failed('The upstream answered without a message.')]);
    if (untranslated !== undefined && !this.hasText && !called)
      return this.over([failed(untranslatableMessage(untranslated))]);
    writer.emit({
      type: 'message_delta',
      delta: { stop_reason: stop.right, stop_sequence: null },
      usage: messagesUsage(this.usage),
    });
    return this.over([...writer.take(), messageStop, { kind: 'done' }]);
  }

  private read(chunk: JsonObject): void {
    this.usage = streamedUsage(this.usage, chunk);
    this.preservedStopReason = preservedStopReason(chunk) ?? this.preservedStopReason;
    const member = this.memberOf(chunk);
    for (const { [member]: delta, finish_reason } of firstChoicePieces(chunk['choices'])) {
      this.hasChoice = true;
      if (isObject(delta)) this.readDelta(delta);
      if (isString(finish_reason) && finish_reason !== '') this.finish = finish_reason;
    }
  }

  /** Some upstreams stream the whole message in one chunk. After deltas such a message only repeats them. */
  private memberOf({ choices }: JsonObject): 'delta' | 'message' {
    return this.writer.isEmpty() && firstChoicePieces(choices).every(({ delta }) => isAbsent(delta))
      ? 'message'
      : 'delta';
  }

  private readDelta(delta: JsonObject): void {
    const reasoning = reasoningOf(delta);
    if (reasoning !== '') this.writer.say('thinking', reasoning);
    const refusal = refusalOf(delta);
    this.refused ||= refusal !== '';
    for (const text of [textOf(delta), refusal]) this.say(text);
    this.writer.keepThoughts(delta);
    this.untranslated ??= untranslatableField(delta);
    for (const piece of callsOf(delta)) this.readCall(this.calls.of(piece), piece);
    const legacy = legacyCallOf(delta);
    if (legacy !== undefined) this.readCall(this.calls.ofLegacy(), legacy);
  }

  private say(text: string): void {
    if (text === '') return;
    this.hasText = true;
    this.writer.say('text', text);
  }

  private readCall(call: CallBlock, piece: CallPiece): void {
    if (this.calls.count > maxTranslatedToolCalls)
      this.writer.fault = 'The upstream sent too many tool calls in one answer.';
    else this.writer.call(call, piece);
  }
}
