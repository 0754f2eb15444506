import type { JsonObject } from '../../../domain/shared/json.ts';

/** A call that a result may answer: its position among all calls, and the function's name. */
export interface PendingCall {
  readonly ordinal: number;
  readonly name: string;
}

/** The calls of one message that have the same id, in order. */
interface SameId {
  readonly message: number;
  readonly calls: PendingCall[];
  next: number;
}

interface Turn {
  readonly role: 'user' | 'model';
  readonly parts: JsonObject[];
  called: boolean;
  /** Results come first, in the order of their calls: only the order shows which result answers which call. */
  readonly results: { readonly ordinal: number; readonly part: JsonObject }[];
}

/** Collects the turns of a conversation. Consecutive messages of one role are one turn. */
export class Turns {
  private readonly turns: Turn[] = [];
  private readonly asked = new Map<string, SameId>();
  private readonly signature: string | undefined;
  private message = 0;
  private count = 0;

  constructor(signature: string | undefined) {
    this.signature = signature;
  }

  get hasBegun(): boolean {
    return this.turns.length > 0;
  }

  say(role: Turn['role'], parts: readonly JsonObject[]): void {
    for (const part of parts) this.turn(role).parts.push(part);
  }

  /** Starts the calls of another message: if it repeats ids of earlier calls, they are new calls. */
  beginCalls(): void {
    this.message += 1;
  }

  /** Adds a call with its own signature. The first call of a turn gets the placeholder if it has none. */
  call(id: string, name: string, args: JsonObject, own: string | undefined): void {
    const turn = this.turn('model');
    const signature = own ?? (turn.called ? undefined : this.signature);
    turn.called = true;
    turn.parts.push({
      functionCall: { name, args },
      ...(signature === undefined ? {} : { thoughtSignature: signature }),
    });
    const known = this.asked.get(id);
    const same = known?.message === this.message ? known : { message: this.message, calls: [], next: 0 };
    same.calls.push({ ordinal: this.count, name });
    this.asked.set(id, same);
    this.count += 1;
  }

  /** The call that a result with this id answers. Several calls with one id are answered one after the other. */
  answered(id: string): PendingCall | undefined {
    const same = this.asked.get(id);
    if (same === undefined) return undefined;
    same.next += 1;
    return same.calls[Math.min(same.next, same.calls.length) - 1];
  }

  result({ ordinal, name }: PendingCall, response: JsonObject): void {
    this.turn('user').results.push({ ordinal, part: { functionResponse: { name, response } } });
  }

  /**
   * Results are a content of their own (rule 17.39): the platform's newer models reject one that has other parts, too,
   * with the words `Requests ending with a model turn are not supported.` A conversation that begins with a call, as
   * what is left of a longer one may, gets a turn of the user first (rule 17.49), which the platform requires before a
   * call: https://github.com/google-gemini/gemini-cli/issues/11814
   */
  contents(): readonly JsonObject[] {
    const first = this.turns[0];
    const begun = first?.called ? [{ role: 'user', parts: [{ text: 'Begin.' }] }] : [];
    const turns = this.turns.flatMap(({ role, results, parts }) => {
      const answers = results.toSorted((a, b) => a.ordinal - b.ordinal).map(({ part }) => part);
      return [answers, parts].filter(({ length }) => length > 0).map((each) => ({ role, parts: each }));
    });
    return [...begun, ...turns];
  }

  private turn(role: Turn['role']): Turn {
    const last = this.turns.at(-1);
    if (last?.role === role) return last;
    const turn: Turn = { role, parts: [], called: false, results: [] };
    this.turns.push(turn);
    return turn;
  }
}
