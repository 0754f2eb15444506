/** The text of the note, which is in no other place. */
export const marker = 'violet-harbour-7313';
