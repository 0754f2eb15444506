/**
 * Whether `Accept-Encoding` allows this coding. `q=0` rejects a coding, and `*` stands for every coding that is not
 * named.
 */
export function acceptsCoding(accepted: string, coding: string): boolean {
  let others = false;
  for (const each of accepted.toLowerCase().split(',')) {
    const [name = '', ...parameters] = each.split(';').map((part) => part.trim());
    const isRefused = parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
    if (name === coding) return !isRefused;
    if (name === '*') others = !isRefused;
  }
  return others;
}
