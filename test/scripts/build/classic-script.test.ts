/** The bundles of programs: modules as esbuild writes them become scripts that do the same. */
import { compileFunction } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { classicScript } from '../../../scripts/build/classic-script.ts'

/** Runs a script as the program loader does, with these modules. */
function run(module: string, modules: Readonly<Record<string, unknown>> = {}) {
  const exports: Record<string, unknown> = {}
  const body = compileFunction(classicScript(module), [
    'exports',
    'require',
    'importScript',
    'importMeta',
  ])
  const find = (name: string): unknown => modules[name]
  body(exports, find, async (name: string) => find(name), { url: 'file:///dist/one.cjs' })
  return exports
}

describe('a classic script', () => {
  it('has what the module imports, under its names', () => {
    const module = `import {
  first,
  second as other
} from "./chunk.cjs";
import whole, { sep } from "node:path";
import * as all from "node:fs";
import "./effect.cjs";
var seen = [first, other, whole, sep, all];
export {
  seen as default,
  sep as separator
};
`
    const modules = {
      './chunk.cjs': { first: 1, second: 2 },
      'node:path': { sep: '/' },
      'node:fs': 3,
    }
    expect(run(module, modules)).toEqual({
      default: [1, 2, { sep: '/' }, '/', 3],
      separator: '/',
    })
  })

  it('imports other scripts on demand, and modules of Node as modules', async () => {
    const module = `export default [() => import("./late.cjs"), () => import("node:os"), import.meta.url];`
    const { default: made } = run(module, { './late.cjs': { late: true } })
    const [late, system, url] = made as [() => unknown, () => unknown, string]
    expect(await late()).toEqual({ late: true })
    expect(String(system)).toContain('import("node:os")')
    expect(url).toBe('file:///dist/one.cjs')
  })

  it('takes a default of another script for its default', () => {
    const module = `import shared from "./shared.cjs";\nexport {\n  shared\n};\n`
    expect(run(module, { './shared.cjs': { default: 7 } })).toEqual({ shared: 7 })
  })

  it('is refused when a script cannot say it', () => {
    expect(() => classicScript('export function made() {}')).toThrow(/no script can have/)
    const late = 'var made;\nvar init_made = __esm({\n});\nexport {\n  made,\n  init_made\n};\n'
    expect(() => classicScript(late)).toThrow(/exports that change later/)
    expect(() => classicScript('export * from "./other.cjs";')).toThrow(/no script can have/)
  })
})
