/// <reference types="vite/client" />
declare module "virtual:accent.css";
