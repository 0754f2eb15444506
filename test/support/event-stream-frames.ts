import { crc32 } from 'node:zlib';

/** A header on the wire: the number of its type, and the bytes of its value with their length. */
export interface WireHeader {
  readonly name: Buffer;
  readonly type: number;
  readonly value: Buffer;
}

const counted = (bytes: Buffer): Buffer => {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return Buffer.concat([length, bytes]);
};

/** A header whose value is a string. */
export const textHeader = (name: string, value: string | Buffer): WireHeader => ({
  name: Buffer.from(name),
  type: 7,
  value: counted(Buffer.from(value)),
});

/** A header whose value is bytes. */
export const bytesHeader = (name: string, value: Buffer): WireHeader => ({
  name: Buffer.from(name),
  type: 6,
  value: counted(value),
});

export const headerBytes = (headers: readonly WireHeader[]): Buffer =>
  Buffer.concat(
    headers.flatMap(({ name, type, value }) => [
      Buffer.from([name.length]),
      name,
      Buffer.from([type]),
      value,
    ]),
  );

const word = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

/** A frame of the binary event stream, with checksums; the lengths can be set wrongly. */
export function rawFrame(
  headers: Buffer,
  payload: Buffer,
  told: { readonly total?: number; readonly headers?: number } = {},
): Buffer {
  const lengths = Buffer.concat([
    word(told.total ?? headers.length + payload.length + 16),
    word(told.headers ?? headers.length),
  ]);
  const prelude = Buffer.concat([lengths, word(crc32(lengths))]);
  const message = Buffer.concat([prelude, headers, payload]);
  return Buffer.concat([message, word(crc32(message))]);
}

export const frame = (headers: readonly WireHeader[], payload: Buffer): Buffer =>
  rawFrame(headerBytes(headers), payload);

/** An event of the platform. */
export const eventFrame = (type: string, payload: object): Buffer =>
  frame(
    [
      textHeader(':event-type', type),
      textHeader(':content-type', 'application/json'),
      textHeader(':message-type', 'event'),
    ],
    Buffer.from(JSON.stringify(payload)),
  );

/** A modelled exception of the service. */
export const exceptionFrame = (type: string, payload: object): Buffer =>
  frame(
    [
      textHeader(':exception-type', type),
      textHeader(':content-type', 'application/json'),
      textHeader(':message-type', 'exception'),
    ],
    Buffer.from(JSON.stringify(payload)),
  );

/** An error without a model. */
export const errorFrame = (code: string, message: string): Buffer =>
  frame(
    [
      textHeader(':message-type', 'error'),
      textHeader(':error-code', code),
      textHeader(':error-message', message),
    ],
    Buffer.alloc(0),
  );
