import { expect } from '@jest/globals';
import { aKey, basicConfig, type ConfigFile } from '../support/gateway.ts';
import { oidcClient } from '../support/oidc-client.ts';

/** The public URL for browsers; tests connect to the gateway's own socket. */
export const publicUrl = 'https://gateway.example.com';
export const redirectUri = `${publicUrl}/api/v1/auth/oidc/callback`;

const key = aKey();

export const signInConfig = (adminAuth: object): ConfigFile =>
  basicConfig('http://127.0.0.1:1/v1', key, {
    more: {
      server: {
        bind: '127.0.0.1:0',
        public_base_url: publicUrl,
        trusted_proxies: ['127.0.0.1'],
      },
      admin_auth: adminAuth,
    },
  });

export const oidcSection = (issuer: string, over: object) => ({
  issuer,
  client_id: oidcClient.id,
  client_secret: oidcClient.secret,
  scopes: ['openid', 'email', 'profile', 'groups'],
  ...over,
});

/** The name and the value of the cookie of a sign-in that has begun. */
export const signInCookie = ({ setCookies }: Answered): readonly string[] =>
  /^(gateway_sign_in_[^=]+)=([^;]+)/.exec(setCookies.join())?.slice(1) ?? [];

export interface Answered {
  readonly status: number;
  readonly location: string | undefined;
  readonly setCookies: readonly string[];
  readonly referrerPolicy: string | null;
  readonly text: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly error: Readonly<Record<string, unknown>>;
}

function keepCookie(jar: Map<string, string>, cookie: string): void {
  const [pair = ''] = cookie.split(';');
  const [name = '', ...value] = pair.split('=');
  if (/max-age=0|expires=thu, 01 jan 1970/i.test(cookie)) jar.delete(name);
  else jar.set(name, value.join('='));
}

async function answered(answer: Response, absolute: (location: string) => string): Promise<Answered> {
  const text = await answer.text();
  const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true;
  const json = (isJson ? JSON.parse(text) : {}) as { data?: Answered['data']; error?: Answered['error'] };
  const location = answer.headers.get('location');
  return {
    status: answer.status,
    location: location === null ? undefined : absolute(location),
    setCookies: answer.headers.getSetCookie(),
    referrerPolicy: answer.headers.get('referrer-policy'),
    text,
    data: json.data ?? {},
    error: json.error ?? {},
  };
}

/** A browser with its cookies, by origin; it follows no redirect by itself. */
export class Browser {
  private readonly cookies = new Map<string, Map<string, string>>();
  private readonly gateway: string;
  private readonly address: string;

  constructor(gateway: string, address = '203.0.113.1') {
    this.gateway = gateway;
    this.address = address;
  }

  async go(url: string, init: { readonly method?: string; readonly body?: object } = {}): Promise<Answered> {
    const target = new URL(url.replace(publicUrl, this.gateway), this.gateway);
    const jar = this.cookies.get(target.origin) ?? new Map<string, string>();
    this.cookies.set(target.origin, jar);
    const answer = await fetch(target, {
      method: init.method ?? 'GET',
      redirect: 'manual',
      headers: {
        cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; '),
        'x-forwarded-for': this.address,
        'sec-fetch-site': 'same-origin',
        ...(init.body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(init.body === undefined ? {} : { body: JSON.stringify(init.body) }),
    });
    for (const cookie of answer.headers.getSetCookie()) keepCookie(jar, cookie);
    return answered(answer, (location) => new URL(location, target).href.replace(this.gateway, ''));
  }

  post(path: string, body: object = {}, method = 'POST'): Promise<Answered> {
    return this.go(path, { method, body });
  }

  /** Goes from the gateway through the provider; returns the URL that the provider redirects back to. */
  async throughProvider(start: Answered): Promise<string> {
    expect([start.status, start.text]).toEqual([302, '']);
    let at = start.location ?? '';
    for (let hops = 0; hops < 8 && !at.startsWith(publicUrl); hops += 1) {
      const hop = await this.go(at);
      if (hop.location === undefined) throw new Error(`the provider says ${hop.status}: ${hop.text}`);
      at = hop.location;
    }
    return at;
  }

  start(returnTo = '/'): Promise<Answered> {
    return this.go(`/api/v1/auth/oidc/start?return_to=${encodeURIComponent(returnTo)}`);
  }

  /** The complete sign-in; returns the gateway's response to the redirect back. */
  async signIn(returnTo = '/'): Promise<Answered> {
    return this.go(await this.throughProvider(await this.start(returnTo)));
  }

  session(): Promise<Answered> {
    return this.go('/api/v1/auth/session');
  }

  /** A cookie that the gateway has set. */
  cookie(name: string): string | undefined {
    return this.cookies.get(this.gateway)?.get(name);
  }

  keep(name: string, value: string): void {
    this.cookies.get(this.gateway)?.set(name, value);
  }
}
