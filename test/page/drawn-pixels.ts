import type { Locator } from 'playwright-core';

/** A part of the page as it is drawn: four bytes for each pixel, row by row. */
export interface Drawn {
  readonly width: number;
  readonly height: number;
  readonly rgba: Uint8ClampedArray<ArrayBuffer>;
}

export async function drawn(part: Locator): Promise<Drawn> {
  const png = (await part.screenshot()).toString('base64');
  const blank = await part.page().context().newPage();
  const [width = 0, height = 0, ...rgba] = (await blank.evaluate(`(async () => {
    const bytes = Uint8Array.from(atob('${png}'), (char) => char.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes]));
    const canvas = new OffscreenCanvas(image.width, image.height).getContext('2d');
    canvas.drawImage(image, 0, 0);
    return [image.width, image.height, ...canvas.getImageData(0, 0, image.width, image.height).data];
  })()`)) as readonly number[];
  await blank.close();
  return { width, height, rgba: Uint8ClampedArray.from(rgba) };
}

/** The colour of a pixel at fractions of the width and the height, as `r,g,b`. */
export function colourAt({ width, height, rgba }: Drawn, x: number, y = 0.5): string {
  const at = 4 * (Math.floor(y * height) * width + Math.floor(x * width));
  return rgba.slice(at, at + 3).join(',');
}
