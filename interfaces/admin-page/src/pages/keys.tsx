import { Page as Frame } from '../ui/page.tsx';

export const Page = () => (
  <Frame title="keys">
    <p>Under construction.</p>
  </Frame>
);
