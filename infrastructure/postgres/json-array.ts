/** The header: number of dimensions, null flag, element type, number of elements, and lower bound. */
const headBytes = 20;
const jsonType = 114;
const lengthBytes = 4;

/**
 * An array of JSON texts in PostgreSQL's binary format. Each text is written into a buffer when it is added, so that
 * data waiting to be sent is outside the heap. The server parses each text once, whereas a single JSON array would
 * first be parsed as a whole.
 */
export class JsonArray {
  readonly room: Buffer;
  /** The end offset of each text. */
  private readonly ends: number[] = [];
  private end = headBytes;

  /** `room` is the buffer that the array is written to. */
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

  /** Size in bytes of an array with a single text of this many bytes. */
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

  /** The array with all texts. It shares the buffer, so nothing may be added afterwards. */
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
