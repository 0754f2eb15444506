import { createHash } from 'node:crypto';
import { callId } from '../../../domain/calls/call-ids.ts';
import type { AnswerNames } from '../../../application/ports/upstream.ts';
import { isFilled, type Json, type JsonObject, membersOf } from '../../../domain/shared/json.ts';
import { maxHeldBackChars } from '../../../domain/shared/limits.ts';
import { PartialArguments } from './generate-content-arguments.ts';
import { callName, type CandidateCall, idOf } from './generate-content-candidate.ts';
import { isOrdinary } from './generate-content-finish.ts';
import { callSignature } from './generate-content-signatures.ts';

/** One piece of a call, as it is sent to the caller. */
export interface CandidatePiece {
  readonly index: number;
  readonly id: string;
  /** Only in the first piece. */
  readonly name: string | undefined;
  readonly text: string;
  readonly signature: string | undefined;
}

/** A call whose arguments are still arriving. */
interface OpenCall {
  /** The upstream's own id. */
  readonly key: string | undefined;
  readonly index: number;
  readonly id: string;
  readonly name: string;
  named: boolean;
  signed: boolean;
  /** The signature that was not sent yet. */
  signature: string | undefined;
  readonly pieces: PartialArguments;
  /** Arguments that arrived whole. A later one replaces an earlier one with the same name. */
  readonly args: Map<string, Json | undefined>;
}

/** A complete call. Of its name and arguments only a digest is kept, by which a repeated call is recognised. */
interface CompleteCall {
  readonly index: number;
  readonly id: string;
  readonly digest: string;
  signed: boolean;
}

/** The calls of one candidate, in the order in which they begin (rules 17.30, 17.31). It changes as they are read. */
export class CandidateCalls {
  count = 0;
  /** Why the calls are unusable. */
  fault: string | undefined;
  private readonly candidate: number;
  private readonly about: AnswerNames;
  /** Open calls by the upstream's own id. Of the calls without an id, only one is open at a time. */
  private readonly open = new Map<string | undefined, OpenCall>();
  /** The open call that was read last. */
  private last: OpenCall | undefined;
  private readonly complete = new Map<string, CompleteCall>();
  /** The characters that are buffered for the open calls. */
  private held = 0;

  constructor(candidate: number, about: AnswerNames) {
    this.candidate = candidate;
    this.about = about;
  }

  /**
   * A call arrives whole or in pieces. A piece continues the open call with its id. A piece without a name and without
   * such an id continues the call that was read last. If a whole call is repeated, with the same id, name and
   * arguments, only its signature is used.
   */
  read({ call, signature }: CandidateCall): readonly CandidatePiece[] {
    const open = this.continued(call);
    if (open !== undefined) return this.extend(open, call, signature);
    if (callName(call) === '') return this.nameless(call);
    const again = this.repeated(call);
    if (again !== undefined) return signatureOf(again, signature);
    const before = [...this.closeAt(undefined), ...this.closeAt(idOf(call))];
    return [...before, ...this.extend(this.begin(call), call, signature)];
  }

  /**
   * The model has stopped. Calls whose arguments were still arriving are complete if it stopped by itself. Otherwise
   * their JSON is left without its last bracket, because callers would take what has arrived for all of it (rule 17.70).
   */
  close(reason: string): readonly CandidatePiece[] {
    return [...this.open.values()].map((open) => {
      const { text, ...piece } = this.closed(open);
      return { ...piece, text: isOrdinary(reason) ? text : text.slice(0, -1) };
    });
  }

  private continued(call: JsonObject): OpenCall | undefined {
    const key = idOf(call);
    const own = key === undefined ? undefined : this.open.get(key);
    if (callName(call) === '') return own ?? this.last;
    return own?.name === callName(call) ? own : undefined;
  }

  private extend(open: OpenCall, call: JsonObject, signature: string | undefined): readonly CandidatePiece[] {
    this.last = open;
    open.signature = signature ?? open.signature;
    const goesOn = call['willContinue'] === true;
    // Most calls arrive whole, and are not rebuilt: with many arguments that takes several times as long as reading
    // them.
    if (!goesOn && isWhole(open, call)) return [this.closed(open, membersOf(call['args']))];
    this.takeArguments(open, call, goesOn);
    if (!goesOn) return [this.closed(open)];
    return open.named ? [] : [pieceOf(open, '')];
  }

  private takeArguments({ args, pieces }: OpenCall, call: JsonObject, goesOn: boolean): void {
    for (const [name, value] of Object.entries(membersOf(call['args']))) args.set(name, value);
    const before = pieces.chars;
    if (goesOn) pieces.chars += JSON.stringify(call['args'] ?? null).length;
    const fits = pieces.take(call['partialArgs']);
    this.held += pieces.chars - before;
    if (!fits || this.held > maxHeldBackChars)
      this.fault ??= 'The upstream sent arguments of a tool call that cannot be put together.';
  }

  /** A nameless piece is ignored if no call is open. If it has arguments it is a fault, because they would be lost. */
  private nameless({ args, partialArgs }: JsonObject): readonly CandidatePiece[] {
    if (Object.keys(membersOf(args)).length > 0 || isFilled(partialArgs))
      this.fault ??= 'The upstream sent arguments of a tool call that has no name.';
    return [];
  }

  private repeated(call: JsonObject): CompleteCall | undefined {
    const before = this.complete.get(idOf(call) ?? '');
    if (before === undefined || call['willContinue'] === true) return undefined;
    return before.digest === digestOf(callName(call), JSON.stringify(membersOf(call['args'])))
      ? before
      : undefined;
  }

  private begin(call: JsonObject): OpenCall {
    const index = this.count;
    this.count += 1;
    const key = idOf(call);
    const open: OpenCall = {
      key,
      index,
      id: key ?? callId(this.about, this.candidate, index),
      name: callName(call),
      named: false,
      signed: false,
      signature: undefined,
      pieces: new PartialArguments(),
      args: new Map(),
    };
    this.open.set(key, open);
    return open;
  }

  private closeAt(key: string | undefined): readonly CandidatePiece[] {
    const open = this.open.get(key);
    return open === undefined ? [] : [this.closed(open)];
  }

  /** Arguments are sent once they are complete, because until then a later piece may change them. */
  private closed(open: OpenCall, args = argumentsOf(open)): CandidatePiece {
    const { key, index, id, name, pieces } = open;
    this.open.delete(key);
    this.last = undefined;
    this.held -= pieces.chars;
    const text = JSON.stringify(args);
    const piece = pieceOf(open, text);
    if (key !== undefined)
      this.complete.set(key, { index, id, digest: digestOf(name, text), signed: open.signed });
    return piece;
  }
}

/** Whether all arguments of the call are in this part. */
const isWhole = ({ args, pieces }: OpenCall, call: JsonObject): boolean =>
  args.size === 0 && pieces.chars === 0 && call['partialArgs'] === undefined;

/** The arguments that have arrived so far. */
const argumentsOf = ({ args, pieces }: OpenCall): JsonObject => pieces.over(Object.fromEntries(args));

/** The piece to send next: the name is sent the first time only, and a signature once. */
function pieceOf(open: OpenCall, text: string): CandidatePiece {
  const { index, id, named, name, signature } = open;
  open.named = true;
  open.signed ||= signature !== undefined;
  open.signature = undefined;
  return { index, id, name: named ? undefined : name, text, signature };
}

/** The signature of a call that was sent without one. */
function signatureOf(complete: CompleteCall, signature: string | undefined): readonly CandidatePiece[] {
  if (complete.signed || signature === undefined) return [];
  complete.signed = true;
  const { index, id } = complete;
  return [{ index, id, name: undefined, text: '', signature }];
}

const digestOf = (name: string, text: string): string =>
  createHash('sha256')
    .update(JSON.stringify([name, text]))
    .digest('base64');

/** The signatures in these pieces, as entries of the reasoning metadata. */
export const signaturesIn = (pieces: readonly CandidatePiece[]): readonly JsonObject[] =>
  pieces.flatMap(({ id, signature }) => (signature === undefined ? [] : [callSignature(id, signature)]));
