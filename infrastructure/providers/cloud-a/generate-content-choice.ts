import type { AnswerNames } from '../../../application/ports/upstream.ts';
import { callId } from '../../../domain/chat/chat-envelope.ts';
import { signed } from '../../../domain/chat/thought-signature.ts';
import { isObject, type Json, type JsonObject } from '../../../domain/shared/json.ts';
import { maxHeldBackChars, maxTranslatedToolCalls } from '../../../domain/shared/limits.ts';
import { PartialArguments } from './generate-content-arguments.ts';
import { finishReason } from './generate-content-finish.ts';
import { idOf, callName, type CandidateContent, type CandidateCall } from './generate-content-candidate.ts';
import { metadataOf } from './generate-content-metadata.ts';
import { callSignature } from './generate-content-signatures.ts';

/** A call whose arguments are still coming. */
interface OpenCall {
  readonly index: number;
  readonly id: string;
  /** What has not been sent to the caller yet. */
  name: string | undefined;
  signature: string | undefined;
  readonly pieces: PartialArguments;
  /** Arguments that came whole: a later one replaces one of its name. */
  readonly args: Map<string, Json | undefined>;
}

/** One choice of a streamed answer; it changes as its pieces are seen. */
export class StreamedChoice {
  /** The finish reason that was last sent to the caller. */
  finish: string | undefined;
  /** What makes the answer unusable; whatever comes after it is ignored. */
  fault: string | undefined;
  private readonly index: number;
  private readonly about: AnswerNames;
  private begun = false;
  private calls = 0;
  private images = 0;
  /** Signatures of calls, for the next delta. */
  private signatures: JsonObject[] = [];
  private open: OpenCall | undefined;

  constructor(index: number, about: AnswerNames) {
    this.index = index;
    this.about = about;
  }

  /**
   * The delta for this content; undefined where there is none. The first one has the role. `last`: the model has
   * stopped, so a call whose arguments were still coming is complete.
   */
  delta(content: CandidateContent, last: boolean): JsonObject | undefined {
    const calls = content.calls.flatMap((call) => this.readCall(call));
    if (last) calls.push(...this.close());
    const images = content.images.map((image, ordinal) => ({ index: this.images + ordinal, ...image }));
    this.images += images.length;
    const { signatures } = this;
    this.signatures = [];
    const delta = {
      ...(content.text === '' ? {} : { content: content.text }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
      ...(images.length === 0 ? {} : { images }),
      ...metadataOf(content, signatures),
    };
    const says = Object.keys(delta).length > 0;
    if (this.begun) return says ? delta : undefined;
    if (!says && !last) return undefined;
    this.begun = true;
    return { role: 'assistant', content: calls.length > 0 ? null : '', ...delta };
  }

  /** The chat completion's reason; undefined where it was sent already. */
  finished(reason: string): string | undefined {
    const finish = finishReason(reason, this.calls > 0);
    if (finish === this.finish) return undefined;
    this.finish = finish;
    return finish;
  }

  /** A call comes whole, or a named piece begins it and nameless ones go on with it. */
  private readCall({ call, signature }: CandidateCall): readonly JsonObject[] {
    const before = callName(call) === '' ? [] : this.close();
    if (callName(call) !== '') this.begin(call);
    const { open } = this;
    if (open === undefined) return before;
    open.signature = signature ?? open.signature;
    const goesOn = call['willContinue'] === true;
    this.takeArguments(open, call, goesOn);
    return [...before, ...(goesOn ? this.announced(open) : this.close())];
  }

  private takeArguments({ args, pieces }: OpenCall, call: JsonObject, goesOn: boolean): void {
    if (isObject(call['args']))
      for (const [name, value] of Object.entries(call['args'])) args.set(name, value);
    if (goesOn) pieces.chars += JSON.stringify(call['args'] ?? null).length;
    if (!pieces.take(call['partialArgs']) || pieces.chars > maxHeldBackChars)
      this.fault ??= 'The upstream sent arguments of a tool call that cannot be put together.';
  }

  private begin(call: JsonObject): void {
    const index = this.calls;
    this.calls += 1;
    if (this.calls > maxTranslatedToolCalls)
      this.fault ??= 'The upstream sent too many tool calls in one answer.';
    const id = idOf(call) ?? callId(this.about, this.index, index);
    this.open = {
      index,
      id,
      name: callName(call),
      signature: undefined,
      pieces: new PartialArguments(),
      args: new Map(),
    };
  }

  /** Arguments are sent once they are complete, because until then a later piece may change them. */
  private close(): readonly JsonObject[] {
    const { open } = this;
    this.open = undefined;
    if (open === undefined) return [];
    return [this.pieceOf(open, JSON.stringify(open.pieces.over(Object.fromEntries(open.args))))];
  }

  private announced(open: OpenCall): readonly JsonObject[] {
    return open.name === undefined ? [] : [this.pieceOf(open, '')];
  }

  /** A piece of a call, which names it the first time. */
  private pieceOf(open: OpenCall, text: string): JsonObject {
    const { index, id, name, signature } = open;
    open.name = undefined;
    open.signature = undefined;
    if (signature !== undefined) this.signatures.push(callSignature(id, signature));
    const more = signed(signature);
    return name === undefined
      ? { index, function: { arguments: text }, ...more }
      : { index, id, type: 'function', function: { name, arguments: text }, ...more };
  }
}
