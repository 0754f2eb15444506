import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, expect } from '@jest/globals';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { account, type AdminClient, adminClient, makeAdmin } from '../support/admin.ts';
import { launchBrowser } from '../support/browser.ts';
import { aKey, basicConfig, type ConfigFile } from '../support/gateway.ts';
import { simulatedScene } from '../e2e/simulated-scene.ts';

/** Starts a browser for the tests of a file; each context is a separate user with separate cookies. */
function withBrowser(): () => Promise<BrowserContext> {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser?.close());
  return () => browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' });
}

const axeFile = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/**
 * A gateway with an admin, and a browser that is logged in as that admin. The console of the page must have
 * no errors and no violations of the security policy.
 */
export function pageScene(config?: (upstreamUrl: string, key: string) => ConfigFile) {
  const key = aKey();
  const scene = simulatedScene((upstream) => (config ?? basicConfig)(upstream, key));
  const newContext = withBrowser();
  const complaints: string[] = [];
  let context: BrowserContext;
  let page: Page;
  let admin: AdminClient;

  /** A page in a separate browser context, without a login. */
  async function stranger(): Promise<Page> {
    const other = await (await newContext()).newPage();
    watch(other, complaints);
    return other;
  }

  beforeAll(async () => {
    await makeAdmin(scene.databaseUrl());
    admin = await adminClient(scene.gateway().url);
    context = await newContext();
    page = await context.newPage();
    watch(page, complaints);
    await page.goto(`${scene.gateway().url}/admin`);
    await logIn(page);
  });
  afterAll(async () => {
    await context?.close();
    expect(complaints).toEqual([]);
  });

  return {
    ...scene,
    /** The key of `a@example.com`, who may call models. */
    key,
    admin: (...call: Parameters<AdminClient>) => admin(...call),
    page: () => page,
    stranger,
    complaints,
    /** Opens a page by its address, such as `/keys?status=active`. */
    open: async (path: string): Promise<Page> => {
      await page.goto(`${scene.gateway().url}/admin${path === '/' ? '' : path}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      return page;
    },
    /** Sends one chat through the gateway, which writes a request log. */
    chat: (body: object = {}, headers: Readonly<Record<string, string>> = {}) =>
      fetch(`${scene.gateway().url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ model: 'fast', messages: [{ role: 'user', content: 'Hello' }], ...body }),
      }),
  };
}

function watch(page: Page, complaints: string[]): void {
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    // The browser itself reports a response of 4xx or 5xx; the tests check these where they matter.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(message.text());
  });
}

export async function logIn(
  page: Page,
  who: { readonly email: string; readonly password: string } = account,
) {
  await page.getByLabel('E-mail').fill(who.email);
  await page.getByLabel('Password').fill(who.password);
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
  await page.getByRole('navigation', { name: 'Pages', exact: true }).waitFor();
}

/** Pixels between the centres of two targets, which WCAG 2.5.8 limits for small ones. */
export async function centreDistance(one: Locator, other: Locator): Promise<number> {
  const [a, b] = [await centreOf(one), await centreOf(other)];
  return Math.hypot(a.x - b.x, a.y - b.y);
}

/** The least distance of the centres of two targets that are smaller than 24 px, as links in a text are. */
export const leastCentreDistance = 24;

async function centreOf(target: Locator): Promise<{ readonly x: number; readonly y: number }> {
  const box = await target.boundingBox();
  if (box === null) throw new Error(`${String(target)} is not seen`);
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
}

/** The violations of WCAG 2.2 AA that axe-core finds in the current page. */
export async function axeViolations(page: Page): Promise<readonly string[]> {
  await page.evaluate(await readFile(axeFile, 'utf8'));
  const result = (await page.evaluate(
    "axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })",
  )) as AxeResult;
  return result.violations.map(
    ({ id, nodes }) =>
      `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join('; ')}`,
  );
}
