import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { request } from 'undici';
import { adminPage } from '../../interfaces/http/admin-page.ts';
import type { RequestContext } from '../../interfaces/http/request-context.ts';
import { aKey, basicConfig } from '../support/gateway.ts';
import { simulatedScene } from './simulated-scene.ts';

const scene = simulatedScene((upstream) => basicConfig(upstream, aKey()));

async function asked(
  at: string,
  headers: Readonly<Record<string, string>> = {},
  method: 'GET' | 'HEAD' | 'POST' = 'GET',
) {
  const answer = await request(`${scene.gateway().url}${at}`, { method, headers });
  return {
    status: answer.statusCode,
    headers: answer.headers,
    body: Buffer.from(await answer.body.arrayBuffer()),
  };
}

const scriptOf = (html: string): string => /src="(\/admin\/assets\/[^"]+\.js)"/.exec(html)?.[1] ?? '';

describe('the admin page', () => {
  it.each(['/admin', '/admin/', '/admin/observability/request-logs', '/admin/keys/no/such/page'])(
    'is the same without a session at each of its paths, and contains no data: %s',
    async (at) => {
      const page = await asked(at);
      expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
      expect(page.body.toString()).toBe((await asked('/admin')).body.toString());
      expect(page.body.toString()).toContain('<div id="root"></div>');
    },
  );

  it('has a policy that forbids inline code, other origins, framing and text as markup, and complies with it', async () => {
    const { headers, body } = await asked('/admin');
    const policy = String(headers['content-security-policy']);
    for (const each of [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "connect-src 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
      "require-trusted-types-for 'script'",
    ])
      expect(policy.split('; ')).toContain(each);
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(body.toString()).not.toMatch(/<script(?![^>]* src=)|<style|style=|\son\w+=|https?:/);
    expect(headers['x-content-type-options']).toBe('nosniff');
  });

  it('is served in the coding that the browser accepts; files with a hash in their name are cached as immutable', async () => {
    const { body, headers } = await asked('/admin');
    expect(headers['cache-control']).toBe('no-cache');
    const script = scriptOf(body.toString());
    const plain = await asked(script);
    expect(plain.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    expect(plain.headers['content-type']).toBe('text/javascript; charset=utf-8');
    const gzip = await asked(script, { 'accept-encoding': 'gzip, br;q=0' });
    const brotli = await asked(script, { 'accept-encoding': 'gzip, deflate, br' });
    expect([plain, gzip, brotli].map((each) => each.headers['content-encoding'])).toEqual([
      undefined,
      'gzip',
      'br',
    ]);
    expect(gunzipSync(gzip.body).equals(plain.body)).toBe(true);
    expect(brotliDecompressSync(brotli.body).equals(plain.body)).toBe(true);
    expect(brotli.headers['vary']).toBe('accept-encoding, origin');
  });

  it('is answered with 304 if the browser has the current version', async () => {
    const { headers } = await asked('/admin');
    const again = await asked('/admin', { 'if-none-match': String(headers['etag']) });
    expect([again.status, again.body.length]).toEqual([304, 0]);
    expect((await asked('/admin', { 'if-none-match': '"another"' })).status).toBe(200);
  });

  it('answers HEAD without a body, and POST with 405', async () => {
    const head = await asked('/admin', {}, 'HEAD');
    expect([head.status, head.body.length]).toEqual([200, 0]);
    expect(Number(head.headers['content-length'])).toBe((await asked('/admin')).body.length);
    expect((await asked('/admin', {}, 'POST')).status).toBe(405);
  });

  it.each([
    '/admin/assets/none.js',
    '/admin/assets/..%2f..%2findex.html',
    '/admin/assets/../../package.json',
  ])('serves only the files of its build, else 404: %s', async (at) => {
    const { status, body } = await asked(at);
    expect(status).toBe(404);
    expect(body.toString()).not.toContain('"dependencies"');
  });

  it('is 503 with the build command until it is built, then is served without a restart, also after a read error', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'gateway-page-'));
    let said: { status: number; text: string } | undefined;
    const res = {
      writeHead: (status: number) => void (said = { status, text: '' }),
      end: (text: string | Buffer) => void (said = { status: said?.status ?? 0, text: String(text) }),
    };
    const context = { req: { headers: {} }, res, requestId: 'r' } as unknown as RequestContext;
    const answer = adminPage(path.join(folder, 'page'));
    await answer(context, '');
    expect(said).toEqual({ status: 503, text: expect.stringContaining('npm run build:page') });
    await writeFile(path.join(folder, 'page'), 'no folder');
    await expect(answer(context, '')).rejects.toThrow('ENOTDIR');
    await rm(path.join(folder, 'page'));
    await mkdir(path.join(folder, 'page'));
    await writeFile(path.join(folder, 'page', 'index.html'), 'built');
    await answer(context, '');
    await rm(folder, { recursive: true });
    expect(said).toEqual({ status: 200, text: 'built' });
  });
});
