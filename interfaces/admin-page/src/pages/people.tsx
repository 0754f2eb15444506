import { Page as Frame } from '../ui/page.tsx';

export const Page = () => (
  <Frame title="people">
    <p>Under construction.</p>
  </Frame>
);
