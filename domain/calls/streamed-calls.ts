import { inputOf, isEmptyArguments } from './call-input.ts';
import type { CallPiece } from './call-pieces.ts';
import { ObjectText } from './object-text.ts';

/** A value may follow these in an object. */
const valueFollows: ReadonlySet<string | undefined> = new Set([':', '[', ',']);

const writtenInput = (text: string): string => JSON.stringify(inputOf(text));

/** Arguments up to this length are remembered to recognise a repetition; files that calls write are longer. */
const maxRememberedChars = 64 * 1024;

/** What is known so far of a tool call in a streamed answer: each piece is first learnt, and then argued. */
export class StreamedCall {
  id = '';
  name = '';
  signature: string | undefined;
  /** The index of the call in the answer, in order of appearance. */
  readonly ordinal: number;
  arguments = new ObjectText();
  /** All arguments so far; `undefined` when they are too long to remember. */
  private whole: string | undefined = '';
  /** The input of a complete call, once it was compared: each repetition is read alone. */
  private input: string | undefined;
  /** The upstream sends all arguments so far in each piece. */
  private isCumulative = false;

  constructor(ordinal: number) {
    this.ordinal = ordinal;
  }

  /**
   * Id and name may arrive late, and repeatedly: the first id counts, and so does the first signature. Returns how many
   * characters were new.
   */
  learn({ id, name, signature }: CallPiece): number {
    const newId = this.id === '' ? id : '';
    const newName = this.restOfName(name);
    this.id ||= newId;
    this.name += newName;
    const newSignature = this.signature === undefined ? signature : undefined;
    this.signature ??= newSignature;
    return newId.length + newName.length + (newSignature?.length ?? 0);
  }

  /** What a piece adds to the name: some upstreams send it in pieces before the arguments, others whole with each. */
  private restOfName(name: string): string {
    if (this.arguments.begun && this.name !== '') return '';
    return name.startsWith(this.name) ? name.slice(this.name.length) : name;
  }

  /** Reads what a piece says of the arguments. Returns what it adds to them. */
  argue(piece: CallPiece): string {
    const text = this.isDone(piece) ? '' : this.added(piece.text);
    if (this.hasEmptyObject() && text.trimStart().startsWith('{')) this.argueAgain();
    this.arguments.see(text);
    const whole = this.whole === undefined ? undefined : this.whole + text;
    this.whole = whole === undefined || whole.length > maxRememberedChars ? undefined : whole;
    return text;
  }

  /** Whether a piece says nothing more of the arguments. */
  private isDone(piece: CallPiece): boolean {
    return this.arguments.begun ? this.repeats(piece) : isEmptyArguments(piece.text);
  }

  /**
   * What a piece adds to the arguments so far, which some upstreams send again in each piece. A piece of another
   * upstream can begin like the whole only where a value may begin, in an object like the one around it.
   */
  private added(text: string): string {
    const { whole, arguments: so } = this;
    if (!whole || !so.begun || so.complete || so.isOther || !text.startsWith(whole)) return text;
    this.isCumulative ||= !valueFollows.has(whole.trimEnd().at(-1));
    return this.isCumulative ? text.slice(whole.length) : text;
  }

  /**
   * Whether all arguments so far are an empty object. Some upstreams send one first, and then the arguments, which
   * replace it.
   */
  hasEmptyObject(): boolean {
    return this.arguments.complete && this.arguments.isEmpty;
  }

  private argueAgain(): void {
    this.arguments = new ObjectText();
    this.whole = '';
    this.input = undefined;
  }

  /** Some upstreams send a call in pieces, and then all its arguments once more, at times written differently. */
  repeats({ id, name, text }: CallPiece): boolean {
    const isThisCall = name === '' ? id === '' || id === this.id : id !== '' && id === this.id;
    return isThisCall && (name === '' || name === this.name) && this.arguments.complete && this.isWhole(text);
  }

  private isWhole(text: string): boolean {
    const { whole } = this;
    if (text === whole) return true;
    if (whole === undefined || isEmptyArguments(text)) return false;
    this.input ??= writtenInput(whole);
    return writtenInput(text) === this.input;
  }
}

/** Finds the call of a streamed answer that a piece belongs to; `beginCall` makes a call at its first piece. */
export class StreamedCalls<Call extends StreamedCall> {
  count = 0;
  private readonly beginCall: (ordinal: number) => Call;
  private readonly byIndex = new Map<number, Call>();
  private readonly byId = new Map<string, Call>();
  private last: Call | undefined;
  /** The last call that began at the index of another one. */
  private displacing: Call | undefined;
  private legacy: Call | undefined;

  constructor(beginCall: (ordinal: number) => Call) {
    this.beginCall = beginCall;
  }

  of(piece: CallPiece): Call {
    this.last = this.known(piece) ?? this.begun(piece);
    return this.last;
  }

  /** The single call of the older API, which has no ids. */
  ofLegacy(): Call {
    this.legacy ??= this.create();
    return this.legacy;
  }

  private known(piece: CallPiece): Call | undefined {
    if (piece.index !== undefined) return this.atIndex(piece.index, piece);
    const same = this.byId.get(piece.id);
    if (same !== undefined && !same.arguments.complete && (piece.name === '' || piece.name === same.name))
      return same;
    return piece.name === '' ? this.last : undefined;
  }

  /** Pieces of one call share its index, but some upstreams give all parallel calls the same index. */
  private atIndex(index: number, piece: CallPiece): Call | undefined {
    const call = this.byIndex.get(index) ?? this.misplaced(index, piece);
    return call === undefined || startsAnotherCall(call, piece) ? undefined : call;
  }

  /** Some upstreams name a call at the index of the previous one, and send its arguments at its own index. */
  private misplaced(index: number, { id, name }: CallPiece): Call | undefined {
    const call = this.displacing;
    if (id !== '' || name !== '' || call === undefined || call.arguments.begun) return undefined;
    this.byIndex.set(index, call);
    return call;
  }

  /** A call without an index arrives whole; only a piece that names no other call can belong to it. */
  private begun({ index, id }: CallPiece): Call {
    const call = this.create();
    if (index !== undefined && this.byIndex.has(index)) this.displacing = call;
    if (index !== undefined) this.byIndex.set(index, call);
    else if (id !== '') this.byId.set(id, call);
    return call;
  }

  private create(): Call {
    const call = this.beginCall(this.count);
    this.count += 1;
    return call;
  }
}

/**
 * A piece with a name begins another call when its id differs, or when the call has all its arguments and the piece
 * brings more.
 */
function startsAnotherCall(call: StreamedCall, piece: CallPiece): boolean {
  const { id, name, text } = piece;
  if (name === '' || call.repeats(piece)) return false;
  return (call.id !== '' && id !== '' && call.id !== id) || (call.arguments.complete && text.trim() !== '');
}
