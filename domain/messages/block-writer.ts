import { CallIds } from '../calls/call-ids.ts';
import { inputOf } from '../calls/call-input.ts';
import { type CallPiece, isEmptyCall } from '../calls/call-pieces.ts';
import { EncryptedThoughts, signed } from '../calls/thought-signature.ts';
import type { JsonObject } from '../shared/json.ts';
import { maxHeldBackChars } from '../shared/limits.ts';
import type { StreamEvent } from '../shared/stream-event.ts';
import type { CallBlock } from './call-block.ts';
import { callersToolName, type MessageNames } from './chat-answer.ts';

/** A chunk is the messages event itself; its `type` is its name on the wire. */
export type MessagesEvent = StreamEvent<JsonObject>;

/** Text or thinking; `held` is buffered until the block is open. */
interface Prose {
  readonly kind: 'text' | 'thinking';
  held: string;
}

type Block = Prose | CallBlock;

/** The memory cost of a block, in characters. */
const blockCost = 64;

/**
 * Writes content blocks one after the other, whatever the order in which their pieces arrive. A piece of the open block
 * is written at once. A later block is buffered until the open one has ended: text and thinking end as soon as
 * something else begins, a call ends when its arguments are complete, or with the answer. Arguments that are not an
 * object are never complete, and are themselves buffered until the answer ends; an empty object is buffered until its
 * call ends, since some upstreams send one first, and then the arguments.
 */
export class BlockWriter {
  /** Why the rest of the answer cannot be written. */
  fault: string | undefined;
  /** Whether a call was written. */
  called = false;
  /** Whether the arguments of a call were truncated. */
  cutOff = false;
  private readonly about: MessageNames;
  private readonly ids: CallIds;
  private readonly thoughts = new EncryptedThoughts();
  private index = -1;
  private open: Block | undefined;
  private waiting: Block[] = [];
  private held = 0;
  private events: MessagesEvent[] = [];

  constructor(about: MessageNames) {
    this.about = about;
    this.ids = new CallIds(about, about.calls?.ids);
  }

  /** Whether nothing has been written or buffered yet. */
  isEmpty(): boolean {
    return this.index < 0 && this.waiting.length === 0;
  }

  say(kind: Prose['kind'], text: string): void {
    if (this.open?.kind === kind && this.waiting.length === 0) {
      this.delta(kind, text);
      return;
    }
    const last = this.waiting.at(-1);
    if (last?.kind === kind) {
      this.hold(last, text);
    } else {
      this.waiting.push({ kind, held: text });
      this.held += text.length + blockCost;
      this.advance();
    }
    this.judge();
  }

  /** Takes what a delta has of the encrypted thoughts that belong to calls. */
  keepThoughts(delta: JsonObject): void {
    this.thoughts.see(delta);
  }

  call(call: CallBlock, piece: CallPiece): void {
    const { arguments: before } = call;
    this.held += call.learn(piece);
    const text = call.argue(piece);
    // The arguments began anew, so what is buffered of the empty object before them is dropped.
    if (call.arguments !== before) this.release(call);
    if (call.arguments.goesOn) {
      this.fault = 'The upstream went on with a tool call that was complete.';
      return;
    }
    if (call.phase === 'closed') return;
    if (call.phase === 'new') this.wait(call);
    if (call.phase === 'waiting' || isHeldToEnd(call)) this.hold(call, text);
    else if (text !== '') this.write(call, text);
    if (this.waiting.length > 0) this.advance();
    this.judge();
  }

  private wait(call: CallBlock): void {
    call.phase = 'waiting';
    this.waiting.push(call);
    this.held += blockCost;
  }

  private hold(block: Block, text: string): void {
    block.held += text;
    this.held += text.length;
  }

  /** Takes the buffered text of a block. */
  private release(block: Block): string {
    const { held } = block;
    this.held -= held.length;
    block.held = '';
    return held;
  }

  /** Writes whatever is still buffered: no more pieces arrive, so it is complete. */
  finish(): void {
    for (const block of this.waiting) if (!isEmpty(block)) this.begin(block);
    this.waiting = [];
    this.close();
  }

  emit(chunk: JsonObject): void {
    this.events.push({ kind: 'chunk', chunk, wire: undefined, terminal: false });
  }

  /** Takes the events that were written since the last call. */
  take(): readonly MessagesEvent[] {
    const { events } = this;
    this.events = [];
    return events;
  }

  /** Checks how much is buffered out of order, once everything that may be written has been. */
  private judge(): void {
    if (this.held > maxHeldBackChars) this.fault = 'The upstream sent too much of an answer out of order.';
  }

  /** Begins the buffered blocks, as far as those before them have ended. */
  private advance(): void {
    let begun = 0;
    for (const block of this.waiting) {
      if (!mayEnd(this.open) || !mayBegin(block)) break;
      this.begin(block);
      begun += 1;
    }
    if (begun > 0) this.waiting.splice(0, begun);
  }

  private begin(block: Block): void {
    this.close();
    this.open = block;
    this.index += 1;
    this.emit({ type: 'content_block_start', index: this.index, content_block: this.startOf(block) });
    this.held -= blockCost;
    if (block.kind === 'tool_use' && isHeldToEnd(block)) return;
    const held = this.release(block);
    if (held !== '') this.write(block, held);
  }

  private startOf(block: Block): JsonObject {
    switch (block.kind) {
      case 'text':
        return { type: 'text', text: '' };
      case 'thinking':
        return { type: 'thinking', thinking: '', signature: '' };
      case 'tool_use': {
        this.called = true;
        block.phase = 'open';
        const id = this.ids.give(block.id, block.ordinal);
        const name = callersToolName(this.about, block.name);
        const carried = { ...signed(block.signature), ...this.thoughts.of(block.id, id) };
        return { type: 'tool_use', id, name, input: {}, ...carried };
      }
    }
  }

  private write(block: Block, text: string): void {
    if (block.kind === 'tool_use') block.isWritten = true;
    this.delta(block.kind, text);
  }

  private delta(kind: Block['kind'], text: string): void {
    this.emit({ type: 'content_block_delta', index: this.index, delta: deltaOf(kind, text) });
  }

  private close(): void {
    if (this.open === undefined) return;
    if (this.open.kind === 'tool_use') this.endCall(this.open);
    this.open = undefined;
    this.emit({ type: 'content_block_stop', index: this.index });
  }

  /** Arguments that are not an object are written once all of them have arrived, as in a whole answer. */
  private endCall(call: CallBlock): void {
    const { begun, complete, isOther } = call.arguments;
    const held = this.release(call);
    if (held !== '') this.write(call, isOther ? JSON.stringify(inputOf(held)) : held);
    if (!isOther) this.cutOff ||= begun && !complete;
    call.phase = 'closed';
  }
}

const isHeldToEnd = (call: CallBlock): boolean => call.arguments.isOther || call.hasEmptyObject();

const mayEnd = (open: Block | undefined): boolean => open?.kind !== 'tool_use' || open.arguments.complete;

/** A call without id, name and arguments does not count as a call. */
const isEmpty = (block: Block): boolean =>
  block.kind === 'tool_use' && isEmptyCall({ id: block.id, name: block.name, text: block.held });

/** The start of a call's block needs its id and name. The name is whole once the arguments have begun (rule 33.47). */
const mayBegin = (block: Block): boolean =>
  block.kind !== 'tool_use' || (block.id !== '' && block.name !== '' && block.arguments.begun);

function deltaOf(kind: Block['kind'], text: string): JsonObject {
  switch (kind) {
    case 'text':
      return { type: 'text_delta', text };
    case 'thinking':
      return { type: 'thinking_delta', thinking: text };
    case 'tool_use':
      return { type: 'input_json_delta', partial_json: text };
  }
}
