import type { Directives } from './directives.ts';

/** The members of an object as JSON text, without the braces around them. */
export const membersJson = (members: object): string => JSON.stringify(members).slice(1, -1);

/** Members for the end of an object, with the leading comma: numbers that parsing and printing again would change. */
export const digitsJson = ({ digits }: Directives): string =>
  digits === true ? ',"digits":[9007199254740993,0.10]' : '';
