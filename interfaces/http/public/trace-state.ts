/** W3C: a vendor list of up to 512 characters must be forwarded. */
const maxTraceStateChars = 512;
/** W3C: no list may have more members. */
const maxTraceStateMembers = 32;

/** W3C: `key=value`, where the value ends in no blank, and contains neither comma nor equals sign. */
const member =
  /^[a-z0-9][a-z0-9_*/@-]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;
const blanksAround = /^[ \t]+|[ \t]+$/g;

/** The caller's list unchanged; `undefined` when it violates W3C's grammar or bounds. Empty members are allowed. */
export function validTraceState(text: string): string | undefined {
  if (text.length > maxTraceStateChars) return undefined;
  const members = text
    .split(',')
    .map((each) => each.replaceAll(blanksAround, ''))
    .filter((each) => each !== '');
  const valid =
    members.length > 0 &&
    members.length <= maxTraceStateMembers &&
    members.every((each) => member.test(each));
  return valid ? text : undefined;
}
