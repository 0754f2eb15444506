/** `system` follows the operating system. */
export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const key = 'gateway.theme';

export const storedTheme = (): Theme => themes.find((each) => each === localStorage.getItem(key)) ?? 'system';

/** Applies the stored choice. */
export const applyTheme = (): void => show(storedTheme());

export function chooseTheme(theme: Theme): void {
  localStorage.setItem(key, theme);
  show(theme);
}

function show(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}
