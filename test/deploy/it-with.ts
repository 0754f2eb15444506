import { it } from '@jest/globals';
import { ran } from './files.ts';

const isInstalled = (tool: string): boolean => ran('sh', ['-c', `command -v ${tool}`]).code === 0;

/** A test that needs a program from outside npm. If it is not installed, the title states that. */
export function itWith(tool: string, title: string, body: () => void | Promise<void>): void {
  if (isInstalled(tool)) it(title, body);
  else it(`${title}: not checked, as ${tool} is not installed`, () => undefined);
}
