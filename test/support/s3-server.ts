import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { signatureFault } from './signature-verifier.ts';

/** A request with a valid signature. */
interface S3Call {
  readonly method: string;
  readonly key: string;
  readonly body: Buffer;
}

export interface S3Server {
  /** To be used with path-style addresses. */
  readonly url: string;
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** The stored objects. */
  readonly objects: Map<string, Buffer>;
  /** Each correctly signed call, in order of arrival: `PUT key`. */
  readonly calls: string[];
  /**
   * Replaces the answers to the next calls: returns a status; or a promise that delays the call, which is
   * then answered as usual. Undefined: as usual.
   */
  meets: (call: S3Call) => Promise<number | undefined> | number | undefined;
  readonly close: () => Promise<void>;
}

const region = 'eu-test-1';

/** Keys per page of a list. */
const pageKeys = 2;

/**
 * An object storage with one bucket that implements S3's protocol on a socket: signatures (version 4) are
 * recomputed from the received request, and bodies are compared with the signed digest.
 */
export async function startS3Server(): Promise<S3Server> {
  const objects = new Map<string, Buffer>();
  const calls: string[] = [];
  const known = { accessKeyId: 'AKIDEXPORT', secretAccessKey: 'secret/of+the-export-test' };
  const bucket = 'lake';
  const server = createServer((request, response) => {
    void answer(request, response);
  });
  const s3: S3Server = {
    url: '',
    bucket,
    ...known,
    objects,
    calls,
    meets: () => undefined,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(Buffer.from(piece));
    const body = Buffer.concat(pieces);
    const { method = '', url: target = '', rawHeaders } = request;
    const fault = signatureFault(
      { method, target, rawHeaders, body },
      {
        region,
        service: 's3',
        pathAsSent: true,
        secretOf: (id) => (id === known.accessKeyId ? { secret: known.secretAccessKey } : undefined),
      },
    );
    if (fault !== undefined) return refuse(response, 403, 'SignatureDoesNotMatch', fault);
    const url = new URL(target, 'http://storage');
    const [, named = '', ...rest] = decodeURIComponent(url.pathname).split('/');
    if (named !== bucket) return refuse(response, 404, 'NoSuchBucket');
    const call = { method, key: rest.join('/'), body };
    calls.push(`${method} ${call.key}`);
    const status = await s3.meets(call);
    if (status !== undefined)
      return refuse(response, status, status === 403 ? 'AccessDenied' : 'InternalError');
    if (call.key === '' && url.searchParams.get('list-type') === '2') return list(response, url.searchParams);
    return object(response, call);
  }

  function object(response: ServerResponse, { method, key, body }: S3Call): void {
    const found = objects.get(key);
    if (method === 'PUT') {
      objects.set(key, body);
      response.setHeader('etag', `"${createHash('md5').update(body).digest('hex')}"`);
      return void response.end();
    }
    if (method === 'DELETE') {
      objects.delete(key);
      return void response.writeHead(204).end();
    }
    if (method !== 'GET') return refuse(response, 405, 'MethodNotAllowed');
    return found === undefined ? refuse(response, 404, 'NoSuchKey') : void response.end(found);
  }

  function list(response: ServerResponse, query: URLSearchParams): void {
    const after = query.get('continuation-token') ?? '';
    const keys = [...objects.keys()]
      .filter((key) => key.startsWith(query.get('prefix') ?? '') && key > after)
      .sort();
    const page = keys.slice(0, pageKeys);
    const more = keys.length > page.length ? page.at(-1) : undefined;
    xml(
      response,
      200,
      `<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>${bucket}</Name>
       <IsTruncated>${more !== undefined}</IsTruncated>
       ${more === undefined ? '' : `<NextContinuationToken>${more}</NextContinuationToken>`}
       ${page.map((key) => `<Contents><Key>${key}</Key></Contents>`).join('')}</ListBucketResult>`,
    );
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return Object.assign(s3, { url: `http://127.0.0.1:${port}` });
}

/** The `export` section of a configuration that writes to this storage. */
export const exportTo = ({ url, accessKeyId }: S3Server) => ({
  endpoint: url,
  region,
  path_style: true,
  auth: { mode: 'static_credentials', access_key_id: accessKeyId, secret_access_key: '${EXPORT_SECRET}' },
});

function refuse(response: ServerResponse, status: number, code: string, message = code): void {
  xml(response, status, `<Error><Code>${code}</Code><Message>${message}</Message></Error>`);
}

function xml(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'application/xml' });
  response.end(`<?xml version="1.0" encoding="UTF-8"?>\n${text}`);
}
