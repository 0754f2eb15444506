import { connect, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { connectOptions } from '../providers/connect-options.ts';

/** In one attempt a server sends some ten kilobytes: a greeting, certificates, a reply to each command (rule 41.17). */
const maxReceivedBytes = 32 * 1024;

/** Connects to a mail server within that time, which includes the name look-up. */
export function meteredConnection(
  { host, port, withinMs }: { readonly host: string; readonly port: number; readonly withinMs: number },
  done: (error: Error | null, opened?: { readonly connection: Socket }) => void,
): void {
  const socket = connect({ host, port, ...connectOptions(withinMs) });
  const late = (): void => void socket.destroy(new Error('Connection timeout'));
  socket.once('timeout', late).once('error', done);
  socket.once('connect', () => {
    socket.off('timeout', late).off('error', done);
    // The library calls nothing of a socket that this does not have.
    done(null, { connection: new MeteredConnection(socket) as Duplex as Socket });
  });
}

/**
 * Ends when the server has sent more than an attempt needs. The library keeps every line that arrives, however many,
 * and takes one in each turn of the event loop: endless blank lines filled the memory and held up the process.
 */
class MeteredConnection extends Duplex {
  private readonly socket: Socket;
  private received = 0;

  constructor(socket: Socket) {
    super();
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => this.receive(chunk));
    socket.on('end', () => this.push(null));
    socket.on('timeout', () => this.emit('timeout'));
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.destroy());
  }

  private receive(chunk: Buffer): void {
    this.received += chunk.length;
    if (this.received > maxReceivedBytes) this.destroy(new Error('The mail server sent too much.'));
    else this.push(chunk);
  }

  /** Of a socket, not of a stream. */
  setTimeout(ms: number): this {
    this.socket.setTimeout(ms);
    return this;
  }

  override _read(): void {
    // What arrives is pushed at once: it is limited.
  }

  override _write(chunk: Buffer, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.socket.write(chunk, encoding, done);
  }

  override _final(done: () => void): void {
    this.socket.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    // Not before the socket has closed: the library would report that instead of the error of TLS that caused it.
    if (this.socket.closed) done(error);
    else this.socket.once('close', () => done(error)).destroy();
  }
}
