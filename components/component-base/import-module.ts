/** importModule: imports what no build holds. Scripts of a build may, too, but Node warns its user of `import()` there. */

/** Present in scripts of a build (program-loader.ts). */
interface ScriptMeta {
  readonly importModule?: (url: string) => Promise<unknown>
}

/** The exports of the module at that URL. */
export async function importModule(url: string): Promise<unknown> {
  const { importModule: given } = import.meta as ScriptMeta
  return await (given === undefined ? import(url) : given(url))
}
