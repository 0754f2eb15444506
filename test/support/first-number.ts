/** The number that a command was given behind its name; what is no number above 0 ends it. */
export function firstNumber(otherwise: number): number {
  const [given] = process.argv.slice(2);
  const number = given === undefined ? otherwise : Number(given);
  if (number > 0) return number;
  process.stderr.write(`${given}: a number above 0, or nothing for ${otherwise}\n`);
  process.exit(2);
}
