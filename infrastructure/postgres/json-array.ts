/** Dimensions, nulls, the type of the elements, how many there are, and the number of the first. */
const headBytes = 20;
const jsonType = 114;
const lengthBytes = 4;

/**
 * JSON texts as one array, in the binary form of PostgreSQL. Each is written into a buffer when it is added, so that
 * what waits to be sent lies outside of the heap; and the server reads each text once, where an array that is JSON
 * itself is read as a whole before that.
 */
export class JsonArray {
  readonly room: Buffer;
  /** Where each text ends. */
  private readonly ends: number[] = [];
  private end = headBytes;

  /** `room`: the buffer that the array is written to. */
  constructor(room: Buffer) {
    this.room = room;
  }

  get count(): number {
    return this.ends.length;
  }

  /** Bytes of the array so far. */
  get size(): number {
    return this.end;
  }

  /** Bytes that an array takes with one text alone of so many. */
  static sizeOf(bytes: number): number {
    return headBytes + lengthBytes + bytes;
  }

  hasRoomFor(bytes: number): boolean {
    return this.end + lengthBytes + bytes <= this.room.length;
  }

  add(text: string): void {
    const bytes = this.room.write(text, this.end + lengthBytes);
    this.room.writeInt32BE(bytes, this.end);
    this.end += lengthBytes + bytes;
    this.ends.push(this.end);
  }

  /** The array with all texts. It shares the room, so nothing may be added after it. */
  whole(): Buffer {
    writeHead(this.room, this.count);
    return this.room.subarray(0, this.end);
  }

  /** An array with some of the texts. */
  only(indexes: readonly number[]): Buffer {
    const texts = indexes.map((index) =>
      this.room.subarray(this.ends[index - 1] ?? headBytes, this.ends[index]),
    );
    const some = Buffer.concat([Buffer.alloc(headBytes), ...texts]);
    writeHead(some, indexes.length);
    return some;
  }
}

function writeHead(array: Buffer, count: number): void {
  const first = 1;
  for (const [at, number] of [1, 0, jsonType, count, first].entries()) array.writeInt32BE(number, at * 4);
}
