import chromiumPackage from '@sparticuz/chromium';
import { type Browser, chromium } from 'playwright-core';
import { buildPage } from '../../interfaces/admin-page/build.ts';

/** A headless Chromium out of an npm package: nothing has to be installed on the machine. */
export async function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: await chromiumPackage.executablePath(),
    args: chromiumPackage.args.filter((arg) => arg !== '--single-process' && arg !== '--no-zygote'),
    headless: true,
  });
}

/** What the suites of the page need, made once for the whole run: the built page, and the browser unpacked. */
export async function preparePage(): Promise<void> {
  await buildPage();
  await chromiumPackage.executablePath();
}
