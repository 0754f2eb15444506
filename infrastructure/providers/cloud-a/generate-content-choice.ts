import type { AnswerNames } from '../../../application/ports/upstream.ts';
import { isRecord } from '../../../domain/messages/blocks.ts';
import type { Json, JsonObject } from '../../../domain/shared/json.ts';
import { maxHeldBackChars, maxTranslatedToolCalls } from '../../../domain/shared/limits.ts';
import { PartialArguments } from './generate-content-arguments.ts';
import { finishReason } from './generate-content-finish.ts';
import { callId } from './generate-content-response.ts';
import { idOf, metadataOf, nameOf, type Said } from './generate-content-said.ts';

/** A call whose arguments are still being told. */
interface OpenCall {
  readonly index: number;
  /** What the caller has not been told of it yet. */
  head: { readonly id: string; readonly name: string } | undefined;
  readonly pieces: PartialArguments;
  /** Arguments that came whole: a later one replaces one of its name. */
  readonly args: Map<string, Json | undefined>;
}

/** One choice of a streamed answer; it changes as its pieces are seen. */
export class StreamedChoice {
  /** The finish reason that the caller was told last. */
  finish: string | undefined;
  /** What makes the answer unusable; nothing that is told after it counts. */
  fault: string | undefined;
  private readonly index: number;
  private readonly about: AnswerNames;
  private begun = false;
  private calls = 0;
  private open: OpenCall | undefined;

  constructor(index: number, about: AnswerNames) {
    this.index = index;
    this.about = about;
  }

  /**
   * The delta that tells what was said; undefined where it was nothing. The first one has the role. `last`: the model
   * has stopped, so that a call whose arguments were still being told is complete.
   */
  delta(said: Said, last: boolean): JsonObject | undefined {
    const calls = said.calls.flatMap((call) => this.readCall(call));
    if (last) calls.push(...this.close());
    const delta = {
      ...(said.text === '' ? {} : { content: said.text }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
      ...metadataOf(said),
    };
    const says = Object.keys(delta).length > 0;
    if (this.begun) return says ? delta : undefined;
    if (!says && !last) return undefined;
    this.begun = true;
    return { role: 'assistant', content: calls.length > 0 ? null : '', ...delta };
  }

  /** The chat completion's reason, where the caller was not told it already. */
  finished(reason: string): string | undefined {
    const finish = finishReason(reason, this.calls > 0);
    if (finish === this.finish) return undefined;
    this.finish = finish;
    return finish;
  }

  /** A call comes whole, or a named piece begins it and nameless ones go on with it. */
  private readCall(call: JsonObject): readonly JsonObject[] {
    const before = nameOf(call) === '' ? [] : this.close();
    if (nameOf(call) !== '') this.begin(call);
    const { open } = this;
    if (open === undefined) return before;
    const goesOn = call['willContinue'] === true;
    if (isRecord(call['args']))
      for (const [name, value] of Object.entries(call['args'])) open.args.set(name, value);
    if (goesOn) open.pieces.chars += JSON.stringify(call['args'] ?? null).length;
    if (!open.pieces.take(call['partialArgs']) || open.pieces.chars > maxHeldBackChars)
      this.fault ??= 'The upstream sent arguments of a tool call that cannot be put together.';
    return [...before, ...(goesOn ? announced(open) : this.close())];
  }

  private begin(call: JsonObject): void {
    const index = this.calls;
    this.calls += 1;
    if (this.calls > maxTranslatedToolCalls)
      this.fault ??= 'The upstream sent too many tool calls in one answer.';
    const id = idOf(call) ?? callId(this.about, this.index, index);
    this.open = { index, head: { id, name: nameOf(call) }, pieces: new PartialArguments(), args: new Map() };
  }

  /** Arguments are told once they are complete: until then no text of them is sure. */
  private close(): readonly JsonObject[] {
    const { open } = this;
    this.open = undefined;
    if (open === undefined) return [];
    return [pieceOf(open, JSON.stringify(open.pieces.over(Object.fromEntries(open.args))))];
  }
}

const announced = (open: OpenCall): readonly JsonObject[] =>
  open.head === undefined ? [] : [pieceOf(open, '')];

/** A piece of a call, which names it the first time. */
function pieceOf(open: OpenCall, text: string): JsonObject {
  const { index, head } = open;
  open.head = undefined;
  return head === undefined
    ? { index, function: { arguments: text } }
    : { index, id: head.id, type: 'function', function: { name: head.name, arguments: text } };
}
