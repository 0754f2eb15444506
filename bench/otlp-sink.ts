import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A telemetry collector that accepts everything and stores nothing. */
export interface OtlpSink {
  readonly url: string;
  /** Received so far. */
  readonly bytes: () => number;
  readonly close: () => void;
}

export async function startOtlpSink(): Promise<OtlpSink> {
  let bytes = 0;
  const server = createServer((req, res) => {
    req.on('data', (piece: Buffer) => void (bytes += piece.length));
    req.once('end', () => void res.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bytes: () => bytes,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
