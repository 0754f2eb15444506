const comma = ','.charCodeAt(0);
const open = '['.charCodeAt(0);
const close = ']'.charCodeAt(0);

/**
 * JSON values as the text of one array. Each is written into a buffer when it is added, so that what waits to be sent
 * lies outside of the heap, and the array need not be joined again.
 */
export class JsonBatch {
  readonly room: Buffer;
  /** Where each item ends. */
  private readonly ends: number[] = [];
  private end = 0;

  /** `room`: the buffer that the items and the brackets around them are written to. */
  constructor(room: Buffer) {
    this.room = room;
  }

  get count(): number {
    return this.ends.length;
  }

  /** Bytes of the items and the commas between them. */
  get size(): number {
    return this.end;
  }

  hasRoomFor(bytes: number): boolean {
    return this.end + 1 + bytes + 1 <= this.room.length;
  }

  /** Adds one item that is given in parts. */
  add(parts: readonly string[]): void {
    this.room[this.end] = this.count === 0 ? open : comma;
    let at = this.end + 1;
    for (const part of parts) at += this.room.write(part, at);
    this.end = at;
    this.ends.push(at);
  }

  /** The text of the array with all items. It shares the batch's buffer, so no item may be added after it. */
  whole(): Buffer {
    this.room[this.end] = close;
    return this.room.subarray(0, this.end + 1);
  }

  /** The text of an array with some of the items. */
  only(indexes: readonly number[]): Buffer {
    const parts = indexes.map((index) => this.room.subarray(this.ends[index - 1] ?? 0, this.ends[index]));
    const some = Buffer.concat([...parts, Buffer.of(close)]);
    some[0] = open;
    return some;
  }
}
