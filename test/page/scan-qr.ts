import jsQr from 'jsqr';
import type { Locator } from 'playwright-core';
import { drawn } from './drawn-pixels.ts';

/** The text of the QR code in a part of the page as it is drawn; undefined if there is none. */
export async function scannedText(part: Locator): Promise<string | undefined> {
  const { rgba, width, height } = await drawn(part);
  return jsQr.default(rgba, width, height)?.data;
}
