/** What stands in the note, and nowhere else. */
export const marker = 'violet-harbour-7313';
