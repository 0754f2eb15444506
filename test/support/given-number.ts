/** The number that a command was given in this place behind its name, the first is 1; what is none above 0 ends it. */
export function givenNumber(place: number, otherwise: number): number {
  const given = process.argv[place + 1];
  const number = given === undefined ? otherwise : Number(given);
  if (number > 0) return number;
  process.stderr.write(`${given}: a number above 0, or nothing for ${otherwise}\n`);
  process.exit(2);
}
