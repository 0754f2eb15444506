import type { KeptPayload } from '../../application/ports/payloads.ts';
import { JsonArray } from './json-array.ts';
import type { LedgerPlace } from './ledger-place.ts';
import type { StatementValue } from './prepared.ts';
import { storedPrint } from './stored-text.ts';

/** A payload as its row stores it, and the UTF-8 length of its texts. */
export interface StoredPayloadText {
  readonly request: string;
  readonly requestBytes: number;
  readonly requestTruncated: boolean;
  readonly response: string;
  readonly responseBytes: number;
  readonly responseTruncated: boolean;
}

export function storedPayload({ request, response }: KeptPayload): StoredPayloadText {
  const [asked, answered] = [storedPrint(request.text), storedPrint(response.text)];
  return {
    request: asked,
    requestBytes: Buffer.byteLength(asked),
    requestTruncated: request.truncated,
    response: answered,
    responseBytes: Buffer.byteLength(answered),
    responseTruncated: response.truncated,
  };
}

/** Payloads sent together, as the statement takes them: the nth element of each array is of the nth request. */
export class PayloadBatch {
  /** The place that each payload goes to. */
  readonly places: LedgerPlace[] = [];
  private readonly ids: string[] = [];
  private readonly requests: JsonArray;
  private readonly responses: JsonArray;
  private readonly requestsTruncated: boolean[] = [];
  private readonly responsesTruncated: boolean[] = [];

  /** Has room for at least this payload. `roomFor` returns buffers of at least this many bytes. */
  constructor({ requestBytes, responseBytes }: StoredPayloadText, roomFor: (bytes: number) => Buffer) {
    this.requests = new JsonArray(roomFor(JsonArray.sizeOf(requestBytes)));
    this.responses = new JsonArray(roomFor(JsonArray.sizeOf(responseBytes)));
  }

  /** Bytes that wait to be sent. */
  get size(): number {
    return this.places.length === 0 ? 0 : this.requests.size + this.responses.size;
  }

  rooms(): readonly Buffer[] {
    return [this.requests.room, this.responses.room];
  }

  hasRoomFor({ requestBytes, responseBytes }: StoredPayloadText): boolean {
    return this.requests.hasRoomFor(requestBytes) && this.responses.hasRoomFor(responseBytes);
  }

  add(requestLogId: string, payload: StoredPayloadText, place: LedgerPlace): void {
    this.ids.push(requestLogId);
    this.requests.add(payload.request);
    this.responses.add(payload.response);
    this.requestsTruncated.push(payload.requestTruncated);
    this.responsesTruncated.push(payload.responseTruncated);
    this.places.push(place);
  }

  /** The values of the statement, for some of the payloads. Nothing may be added afterwards. */
  values(indexes: readonly number[]): readonly StatementValue[] {
    const isWhole = indexes.length === this.ids.length;
    const some = <A>(all: readonly A[]): readonly (A | null)[] =>
      isWhole ? all : indexes.map((index) => all[index] ?? null);
    const texts = (array: JsonArray): Buffer => (isWhole ? array.whole() : array.only(indexes));
    return [
      some(this.ids),
      texts(this.requests),
      texts(this.responses),
      some(this.requestsTruncated),
      some(this.responsesTruncated),
    ];
  }
}
