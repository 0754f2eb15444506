import { Page as Frame } from '../ui/page.tsx';

export const Page = () => (
  <Frame title="models">
    <p>Under construction.</p>
  </Frame>
);
