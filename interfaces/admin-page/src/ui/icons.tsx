const paths = {
  close: 'M4 4l8 8M12 4l-8 8',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM11 11l3 3',
  check: 'M3 8.5l3.5 3.5L13 5',
  warning: 'M8 2l6.5 12h-13zM8 6.5v3.5M8 12v.3',
  error: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM6 6l4 4M10 6l-4 4',
  copy: 'M5 5V2.5h8.5V11H11M2.5 5H11v8.5H2.5z',
  menu: 'M2 4h12M2 8h12M2 12h12',
  next: 'M6 3l5 5-5 5',
  previous: 'M10 3L5 8l5 5',
  download: 'M8 2v8M4.5 7L8 10.5 11.5 7M2.5 13.5h11',
  columns: 'M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10',
  pause: 'M5.5 3v10M10.5 3v10',
  play: 'M5 3l8 5-8 5z',
  clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 5v3.2l2 1.3',
  info: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 7.5V11M8 5v.3',
  filter: 'M2 3h12l-4.5 5.5V13l-3-1.5v-3z',
  without: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM3.8 12.2l8.4-8.4',
  turn: 'M3 6h9l-3-3M13 10H4l3 3',
  hidden: 'M2 8s2.2-4 6-4 6 4 6 4-2.2 4-6 4-6-4-6-4zM3 13L13 3',
  cut: 'M4 4l9 7M4 12l9-7M4 5.5a1.5 1.5 0 1 0-.1 0zM4 13.5a1.5 1.5 0 1 0-.1 0z',
} as const;

export type IconName = keyof typeof paths;

/** A mark beside a word, hidden from screen readers. */
export const Icon = ({ name }: { readonly name: IconName }) => (
  <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
    <path d={paths[name]} />
  </svg>
);
