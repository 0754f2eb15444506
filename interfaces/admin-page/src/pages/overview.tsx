import { Page as Frame } from '../ui/page.tsx';

export const Page = () => (
  <Frame title="overview">
    <p>Under construction.</p>
  </Frame>
);
