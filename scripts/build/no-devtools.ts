/** In the place of `react-devtools-core`, which Ink imports for its developers. */
// oxlint-disable-next-line no-restricted-exports import/no-default-export -- Ink imports a default
export default { initialize: (): void => {}, connectToDevTools: (): void => {} }
