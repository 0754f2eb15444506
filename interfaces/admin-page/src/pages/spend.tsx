import { Page as Frame } from '../ui/page.tsx';

export const Page = () => (
  <Frame title="spend">
    <p>Under construction.</p>
  </Frame>
);
