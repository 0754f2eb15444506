// The yardstick: node:http and undici's dispatch, bytes in, bytes out, nothing read, checked or stored. Plain
// JavaScript, because type stripping would count towards its memory.
import { createServer } from 'node:http';
import { Pool } from 'undici';

const upstream = new URL(process.argv[2] ?? '');
const pool = new Pool(upstream.origin);

const server = createServer((req, res) => {
  /** @type {Buffer[]} */
  const chunks = [];
  req.on('data', (chunk) => chunks.push(chunk));
  req.on('end', () => {
    pool.dispatch(
      {
        method: 'POST',
        path: `${upstream.pathname}/chat/completions`,
        headers: { 'content-type': 'application/json' },
        body: chunks.length === 1 ? (chunks[0] ?? null) : Buffer.concat(chunks),
      },
      {
        onRequestStart: () => undefined,
        onResponseStart: (_controller, status, headers) => {
          res.writeHead(status, { 'content-type': String(headers['content-type']) });
        },
        onResponseData: (_controller, chunk) => void res.write(chunk),
        onResponseEnd: () => void res.end(),
        onResponseError: () => void res.destroy(),
      },
    );
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`{"url":"http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}"}\n`);
});
