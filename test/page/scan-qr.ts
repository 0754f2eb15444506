import jsQr from 'jsqr';
import type { Locator } from 'playwright-core';

/** The text of the QR code in a part of the page as it is drawn; undefined if there is none. */
export async function scannedText(part: Locator): Promise<string | undefined> {
  const png = (await part.screenshot()).toString('base64');
  const blank = await part.page().context().newPage();
  const [width, ...pixels] = (await blank.evaluate(`(async () => {
    const bytes = Uint8Array.from(atob('${png}'), (char) => char.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes]));
    const canvas = new OffscreenCanvas(image.width, image.height).getContext('2d');
    canvas.drawImage(image, 0, 0);
    return [image.width, ...canvas.getImageData(0, 0, image.width, image.height).data];
  })()`)) as readonly number[];
  await blank.close();
  if (width === undefined) return undefined;
  return jsQr.default(Uint8ClampedArray.from(pixels), width, pixels.length / 4 / width)?.data;
}
